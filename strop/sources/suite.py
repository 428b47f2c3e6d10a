"""Suites of workloads: where ``kernelbench:LEVEL/ID`` finds its text, in a checkout or in JSONL files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strop.errors import BadWorkload, UsageError
from strop.settings import at_home
from strop.sources.text import is_there

_NAME = re.compile(r"kernelbench:(\d+)/(\d+)\Z")
_NUMBERED = re.compile(r"(\d+)_.*\.py\Z")
HOW = "Name a KernelBench checkout, a folder of level*.jsonl or one JSONL file with --suite PATH or STROP_KERNELBENCH."


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem of the suite: its numbers, its name and its text."""

    level: int
    problem_id: int
    name: str
    text: str


def names_problem(typed: str) -> bool:
    """True when a WORKLOAD refers to the suite."""
    return typed.startswith("kernelbench:")


def find_problem(typed: str, suite: str) -> Problem:
    """Look up ``kernelbench:LEVEL/ID``.

    Raises:
        UsageError: no suite is named, or it is not one.
        BadWorkload: the name has another form, or the suite has no such problem.
    """
    match = _NAME.match(typed)
    if match is None:
        raise BadWorkload(f"'{typed}' is not a problem: write kernelbench:LEVEL/ID, such as kernelbench:1/19.")
    if not suite:
        raise UsageError(f"'{typed}' needs a suite. {HOW}")
    level, problem_id = int(match.group(1)), int(match.group(2))
    root = at_home(suite, "--suite or STROP_KERNELBENCH")
    if not is_there(root):
        raise UsageError(f"There is no suite at '{suite}'. {HOW}")
    problem = _in_file(root, level, problem_id) if root.is_file() else _in_folder(root, level, problem_id)
    if problem is None:
        raise BadWorkload(f"The suite at {suite} has no problem {problem_id} on level {level}.")
    return problem


def problems_of(suite: str) -> list[Problem]:
    """Every problem of a checkout, a folder of JSONL files or one JSONL file, by level and number.

    Raises:
        UsageError: it is no suite, or a file of it cannot be read.
    """
    root = at_home(suite, "the suite")
    if root.is_file():
        found = _all_in_file(root)
    elif lines := sorted(root.glob("*.jsonl")):
        found = [problem for path in lines for problem in _all_in_file(path)]
    else:
        found = [
            Problem(level=int(path.parent.name[5:]), problem_id=int(match.group(1)), name=path.stem, text=_text(path))
            for path in _checkout(root).glob("level*/*.py")
            if path.parent.name[5:].isdecimal() and (match := _NUMBERED.match(path.name))
        ]
    return sorted(found, key=lambda problem: (problem.level, problem.problem_id))


def is_suite(root: Path) -> bool:
    """True for what looks like KernelBench: a JSONL file, a folder of them, or a checkout."""
    if root.is_file():
        return root.suffix == ".jsonl"
    return any(any(root.glob(pattern)) for pattern in ("*.jsonl", "KernelBench/level*/", "level[0-9]*/"))


def _in_folder(root: Path, level: int, problem_id: int) -> Problem | None:
    lines = sorted(root.glob("*.jsonl"))
    if lines:
        found = (_in_file(path, level, problem_id) for path in lines)
        return next((problem for problem in found if problem is not None), None)
    for path in sorted((_checkout(root) / f"level{level}").glob(f"{problem_id}_*.py")):
        return Problem(level=level, problem_id=problem_id, name=path.stem, text=_text(path))
    return None


def _checkout(root: Path) -> Path:
    """The folder that holds the folders of levels."""
    base = next((each for each in (root / "KernelBench", root) if any(each.glob("level*"))), None)
    if base is None:
        raise UsageError(f"'{root}' is no suite: it holds neither KernelBench/level1 nor level*.jsonl. {HOW}")
    return base


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise UsageError(f"'{path}' cannot be read: {fault.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"'{path}' is not UTF-8 text: save it as UTF-8.") from None


def _in_file(path: Path, level: int, problem_id: int) -> Problem | None:
    for row in _rows(path):
        if row["level"] == level and row["problem_id"] == problem_id:
            return _problem(row)
    return None


def _all_in_file(path: Path) -> list[Problem]:
    return [_problem(row) for row in _rows(path)]


def _problem(row: dict[str, Any]) -> Problem:
    return Problem(
        level=int(row["level"]), problem_id=int(row["problem_id"]), name=str(row["name"]), text=str(row["code"])
    )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if line.strip():
            yield _row(path, number, line)


def _row(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as fault:
        raise UsageError(f"{path}, line {number} is not JSON: {fault.msg}.") from None
    missing = [key for key in ("level", "problem_id", "name", "code") if not isinstance(row, dict) or key not in row]
    if missing:
        raise UsageError(f"{path}, line {number} lacks {', '.join(missing)}: each line needs all four keys.")
    return row
