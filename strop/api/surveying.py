"""What the compiler made of a workload: the stations up to the catalogue, told as a Story; nothing is judged."""

from __future__ import annotations

from datetime import UTC, datetime

from strop.api.asking import Asked
from strop.api.candidates import candidate_named
from strop.api.workloads import workload_named
from strop.pipeline.stations import LocalStations
from strop.ports import Listener
from strop.records.candidate import Candidate
from strop.records.event import Event, Happening, RunStarted
from strop.report.story import Story
from strop.wiring import Say, calibrated, find_kind, home_of, open_stations, silent


class _Teller:
    """Turns happenings into events that are in no ledger: nothing is judged here, so nothing needs to be remembered."""

    def __init__(self, watch: Listener | None) -> None:
        self.story = Story()
        self._watch = watch
        self._count = 0

    def tell(self, what: Happening) -> None:
        self._count += 1
        event = Event(run="profile", sequence=self._count, at=datetime.now(UTC).isoformat(), what=what)
        self.story.hear(event)
        if self._watch is not None:
            self._watch.heard(event)


def profile_named(
    typed: str,
    asked: Asked,
    watch: Listener | None = None,
    say: Say = silent,
    *,
    typed_candidate: str | None = None,
    counters: bool = True,
) -> Story:
    """Survey what was typed; a candidate is profiled in the place of the best baseline, and not judged. ``counters``:
    read the device's own, where there are any and this user may.

    Raises:
        BadWorkload: the workload's own code does not load or raises.
        BadCandidate: the candidate is none, cannot be built or raises.
    """
    request = asked.checked()
    home = home_of()
    kind = find_kind(asked.target)
    workload = workload_named(typed, home, kind.device, asked.chosen_mode(), asked.suite)
    candidate = candidate_named(typed_candidate, workload) if typed_candidate is not None else None
    target = calibrated(kind, home.settings, say)
    teller = _Teller(watch)
    with open_stations(home, workload, target, request) as (stations, _):
        teller.tell(RunStarted(workload=workload, target=target, request=request, conditions=stations.conditions))
        _survey(stations, teller, candidate, counters)
    return teller.story


def _survey(stations: LocalStations, teller: _Teller, candidate: Candidate | None, counters: bool) -> None:
    """A workload on which nothing could be judged can still be looked at, so admission does not end this."""
    teller.tell(stations.describe())
    teller.tell(stations.admit())
    teller.tell(stations.capture())
    teller.tell(stations.baselines())
    teller.tell(stations.profile(candidate, counters=counters))
    teller.tell(stations.catalogue())
