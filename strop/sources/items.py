"""What a campaign is about: the workloads of one or more suites, each with the contract under which it is judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from strop.errors import UnknownName, UsageError
from strop.records.contract import CONTRACTS
from strop.settings import at_home
from strop.sources.suite import is_suite, problems_of
from strop.sources.text import is_there

KERNELBENCH = "kernelbench"
FORMS = "A suite is a KernelBench checkout, a JSONL file, a folder of either, or a folder of workload files (*.py)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One workload of a suite. ``name`` is what ``strop optimize`` takes (with ``--suite where`` for a problem of
    KernelBench), ``key`` what ``--only`` picks it by: ``1/19``, or a file's name without its ending.
    """

    name: str
    key: str
    suite: str
    where: str
    contract: str
    level: int | None = None
    problem_id: int | None = None


def items_of(typed: str, contract: str, configured: str = "") -> list[Item]:
    """The workloads of SUITE or SUITE=CONTRACT; ``contract`` is what holds where none is named. The word
    ``kernelbench`` is the suite that is ``configured``.

    Raises:
        UsageError: there is no such suite, or it holds nothing.
    """
    path_text, equals, named = typed.rpartition("=")
    if equals and named in CONTRACTS:
        typed, contract = path_text, named
    if typed == KERNELBENCH and not is_there(typed):
        if not configured:
            raise UsageError(f"No KernelBench is configured: name its path, or set STROP_KERNELBENCH. {FORMS}")
        typed = configured
    root = at_home(typed, "SUITE")
    if not is_there(root):
        raise UsageError(f"There is no suite at '{typed}'. {FORMS}")
    if is_suite(root):
        found = [
            Item(
                name=f"{KERNELBENCH}:{problem.level}/{problem.problem_id}",
                key=f"{problem.level}/{problem.problem_id}",
                suite=KERNELBENCH,
                where=typed,
                contract=contract,
                level=problem.level,
                problem_id=problem.problem_id,
            )
            for problem in problems_of(typed)
        ]
    else:
        found = _files(root, typed, contract)
    if not found:
        raise UsageError(f"'{typed}' holds no workload. {FORMS}")
    return found


def _files(root: Path, typed: str, contract: str) -> list[Item]:
    """Workload files; names that begin with an underscore are theirs to import."""
    paths = [root] if root.suffix == ".py" else sorted(root.glob("[!_]*.py"))
    suite = root.stem if root.is_file() else root.resolve().name
    return [Item(name=str(path), key=path.stem, suite=suite, where=typed, contract=contract) for path in paths]


def chosen(items: Iterable[Item], only: Sequence[str] | None, levels: Collection[int] | None) -> list[Item]:
    """The workloads that ``only`` and ``levels`` leave, each once, in their order. Levels concern KernelBench alone.

    Raises:
        UnknownName: ``only`` names something that is not there.
        UsageError: nothing is left.
    """
    unique = list({(item.name, item.contract): item for item in items}.values())
    for key in only or ():
        if key not in {item.key for item in unique}:
            raise UnknownName("workload in the suite", key, {item.key for item in unique})
    left = [
        item
        for item in unique
        if (only is None or item.key in only) and (levels is None or item.level is None or item.level in levels)
    ]
    if not left:
        raise UsageError("--only and --levels leave no workload: name others, or leave one of them out.")
    return left
