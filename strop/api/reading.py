"""What the ledger remembers: runs, candidates, kernels, reports. Nothing here starts a process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from strop.errors import UnknownName
from strop.records.profile import KernelProfile
from strop.records.result import RunResult
from strop.report.pages import html_page, markdown_page
from strop.report.sentences import kernel_labels
from strop.report.story import CandidateStory, Story, told
from strop.storage.ledger import SqlLedger
from strop.supervisor.result import summarise
from strop.wiring import open_house, write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A run as a reader needs it: its story for the details, its result for the outcome."""

    story: Story
    result: RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCandidate:
    """A candidate as the newest of its runs tells it."""

    story: CandidateStory
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKernel:
    """A kernel of the compiler's version in one run: the ``number``-th (1 is the heaviest) of ``of`` with its name."""

    run: str
    kernel: KernelProfile
    number: int = 1
    of: int = 1


Found = Done | KnownCandidate | KnownKernel


def read_run(ledger: SqlLedger, name: str) -> Done:
    """A run by its id or by enough of its beginning.

    Raises:
        UnknownName: no run begins so, or several do.
    """
    run = full_id(name, ledger.runs())
    events = list(ledger.events(run))
    return Done(story=told(events), result=summarise(events))


def full_id(name: str, runs: Sequence[str]) -> str:
    """The run that ``name`` is the id or an unambiguous beginning of; ``last`` is the newest."""
    if name == "last" and runs:
        return runs[0]
    if name in runs:
        return name
    fitting = [run for run in runs if run.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    raise UnknownName("run" if not fitting else "single run", name, fitting or runs)


def all_runs(store: str | None = None) -> list[RunResult]:
    """Every run of the ledger, newest first."""
    with open_house(store, create=False) as house:
        return [read_run(house.ledger, run).result for run in house.ledger.runs()]


def find(name: str, store: str | None = None) -> Found:
    """A run, a candidate (``c-...``), or a kernel of a run (``RUN/KERNEL``, ``RUN/KERNEL#2`` for the second
    heaviest of that name).

    Raises:
        UnknownName: the ledger knows nothing of that name.
    """
    with open_house(store, create=False) as house:
        if name.startswith("c-"):
            return _candidate(house.ledger, name)
        run, slash, kernel = name.partition("/")
        done = read_run(house.ledger, run)
    return _kernel(done, kernel) if slash else done


def _candidate(ledger: SqlLedger, name: str) -> KnownCandidate:
    runs = ledger.runs_about(name)
    if not runs:
        known = [each for run in ledger.runs()[:20] for each in read_run(ledger, run).story.candidates]
        raise UnknownName("candidate", name, known)
    return KnownCandidate(story=read_run(ledger, runs[0]).story.candidates[name], runs=tuple(runs))


def _kernel(done: Done, name: str) -> KnownKernel:
    kernels = done.story.profiled.profile.kernels if done.story.profiled else ()
    labels = kernel_labels(kernels)
    if name not in labels:
        raise UnknownName("kernel", name, labels)
    at = labels.index(name)
    same = [kernel for kernel in kernels if kernel.name == kernels[at].name]
    number = sum(kernel.name == kernels[at].name for kernel in kernels[: at + 1])
    return KnownKernel(run=done.story.run, kernel=kernels[at], number=number, of=len(same))


def write_report(
    names: Sequence[str], output: Path | None = None, store: str | None = None
) -> tuple[Path, tuple[str, ...]]:
    """Write the report of one or more runs; return where, and the runs' full ids. Markdown when it ends in ``.md``.

    Raises:
        UnknownName: no such run.
        StoreError: the file cannot be written.
    """
    with open_house(store, create=False) as house:
        runs = [read_run(house.ledger, name) for name in names]
    told_runs = [(done.story, done.result) for done in runs]
    place = output or Path(f"{runs[0].story.run}.html")
    page = "\n".join(markdown_page(*each) for each in told_runs) if place.suffix == ".md" else html_page(told_runs)
    write_whole(place, page.encode())
    return place, tuple(done.story.run for done in runs)
