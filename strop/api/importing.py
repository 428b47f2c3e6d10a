"""Runs of another ledger, taken over into this one: a campaign may be measured in several places."""

from __future__ import annotations

from dataclasses import dataclass

from strop.errors import StoreError, UsageError
from strop.storage.artefacts import Artefacts
from strop.storage.ledger import open_ledger
from strop.storage.places import artefacts_folder
from strop.wiring import open_house


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What was taken over: new runs and such as went on there, their events, and the runs that were here already."""

    runs: tuple[str, ...]
    events: int
    known: tuple[str, ...]


def import_runs(source: str, store: str | None = None) -> Imported:
    """Take over what the ledger at ``source`` holds and the one at ``store`` lacks; said again, nothing is taken twice.

    Raises:
        UsageError: both are the same ledger.
        StoreError: one of them cannot be opened; or runs of one name differ: those are left out, all others are taken.
    """
    with open_ledger(source, create=False) as other, open_house(store) as house:
        if other.place == house.place:
            raise UsageError(f"{source} is the ledger into which you import: name another one, or another --store.")
        # What runs refer to comes before them.
        house.artefacts.take(Artefacts(artefacts_folder(source, house.settings.home)))
        taken, differing = dict[str, int](), list[str]()
        for run in reversed(other.runs()):
            try:
                taken[run] = house.ledger.take(run, other)
            except StoreError as error:
                differing.append(str(error))
    if differing:
        raise StoreError(" ".join(differing))
    return Imported(
        runs=tuple(run for run, events in taken.items() if events),
        events=sum(taken.values()),
        known=tuple(run for run, events in taken.items() if not events),
    )
