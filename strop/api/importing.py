"""Taking over the runs of another ledger, so that what was measured in several places is read and scored as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from strop.errors import StoreError
from strop.records.event import RunStarted
from strop.records.workload import SourceKind, WorkloadSource
from strop.sources.text import digest_of, read_bytes
from strop.storage.ledger import Taken, Written
from strop.storage.places import WORKLOADS_FOLDER, workloads_folder
from strop.wiring import House, open_house, visit_house, write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of each run of the ledger ``there``, oldest first, on its way into the one ``here``; ``files`` is how
    many workloads came along as files.
    """

    there: str
    here: str
    runs: tuple[Taken, ...]
    files: int

    @property
    def taken(self) -> tuple[Taken, ...]:
        """The runs of which something was taken."""
        return tuple(each for each in self.runs if each.taken)

    @property
    def refused(self) -> tuple[Taken, ...]:
        """The runs of which nothing could be taken."""
        return tuple(each for each in self.runs if each.because)

    @property
    def exit_code(self) -> int:
        """2 when a run was refused, else 0; the others were taken all the same."""
        return 2 if self.refused else 0


def import_runs(other: str, store: str | None = None) -> Imported:
    """Take over what the ledger at ``other`` has and this one lacks: events with their run, number and time, and the
    workloads that Strop keeps as files there. ``other`` is only read. Said again, it takes what is left.

    Raises:
        StoreError: there is no ledger at ``other``, or one of the two places cannot be used.
    """
    with visit_house(other) as there, open_house(store) as here:
        texts = workloads_folder(other, there.settings.home)
        runs, files = [], 0
        for run in reversed(there.ledger.runs()):
            try:
                written = list(there.ledger.written(run))
            except StoreError as error:
                runs.append(Taken(run=run, because=str(error)))
                continue
            runs.append(here.ledger.take(run, written))
            if not runs[-1].because:
                files += sum(_take_file(source, texts, there, here) for source in _sources(written))
    return Imported(there=there.place, here=here.place, runs=tuple(runs), files=files)


def _sources(written: Sequence[Written]) -> Iterator[WorkloadSource]:
    """Where the run's workload lay; a run that was taken up again says it once more."""
    started = (each.event.what for each in written)
    yield from {what.workload.source: None for what in started if isinstance(what, RunStarted)}


def _take_file(source: WorkloadSource, texts: Path, there: House, here: House) -> bool:
    """Copy a workload that is kept beside the other ledger, unless it is here or is not what the run was about."""
    if source.kind is SourceKind.LIVE:
        kept, place = there.artefacts.path(source.digest), here.artefacts.path(source.digest)
    elif source.kind is SourceKind.FILE and Path(source.where).parent.name == WORKLOADS_FOLDER:
        name = Path(source.where).name
        kept, place = texts / name, here.settings.home / WORKLOADS_FOLDER / name
    else:
        return False
    if place.exists() or not kept.is_file():
        return False
    data = read_bytes(kept, StoreError)
    if digest_of(data) != source.digest:
        return False
    write_whole(place, data)
    return True
