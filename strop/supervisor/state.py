"""A run as its events tell it: what is known, what was decided, whether it ended. Pure; the loop keeps nothing else."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from strop.records.candidate import Candidate
from strop.records.decision import Decision
from strop.records.event import (
    Admitted,
    BaselinesMeasured,
    Best,
    Captured,
    CatalogueAsked,
    Challenged,
    Decided,
    Described,
    Event,
    Happening,
    Judged,
    Profiled,
    Proposed,
    RuleAsked,
    RunEnded,
    RunStarted,
)
from strop.records.verdict import Verdict
from strop.supervisor.stations import Surveyed


@dataclass(slots=True, kw_only=True)
class RunState:
    """One run so far. ``screened`` and ``confirmed`` hold decisions by candidate id, in the order in which they fell;
    a challenge changes what was confirmed.

    ``surveyed`` maps the name of each survey event to it; ``started`` is the newest RunStarted. ``device_seconds_s``
    and ``wall_seconds_s`` are the cost of all sittings together, of those that were killed up to their last event;
    ``survey_seconds_s`` is the part of it that the survey took, None before its end; ``longest_screening_s`` the most
    that one candidate took from its proposal to its first decision.
    """

    run: str = ""
    started: RunStarted | None = None
    surveyed: dict[str, Surveyed] = field(default_factory=dict)
    proposed: dict[str, Candidate] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    screened: dict[str, Decision] = field(default_factory=dict)
    confirmed: dict[str, Decision] = field(default_factory=dict)
    challenges: list[Challenged] = field(default_factory=list)
    best: Best | None = None
    ended: RunEnded | None = None
    last_sequence: int = 0
    device_seconds_s: float = 0.0
    wall_seconds_s: float = 0.0
    survey_seconds_s: float | None = None
    longest_screening_s: float = 0.0
    _began_at: str = ""
    _device_before_s: float = 0.0
    _wall_before_s: float = 0.0
    _proposed_s: float = 0.0

    def hear(self, event: Event) -> None:
        """Take in the next event of the run."""
        self.run, self.last_sequence = event.run, event.sequence
        match event.what:
            case RunStarted():
                self.started, self.ended = event.what, None
                self._began_at = event.at
                self._device_before_s, self._wall_before_s = self.device_seconds_s, self.wall_seconds_s
            case RunEnded():
                self.ended = event.what
                self.device_seconds_s, self.wall_seconds_s = event.what.device_seconds_s, event.what.wall_seconds_s
                return
            case RuleAsked(device_seconds_s=held_s):
                # Asked after the end: the device was held, but the run itself took no longer.
                self.device_seconds_s += held_s
                return
            case Decided(device_seconds_s=held_s):
                self.device_seconds_s = self._device_before_s + held_s
            case _:
                pass
        self.wall_seconds_s = self._wall_before_s + _between_s(self._began_at, event.at)
        self._learn(event.what)

    def _learn(self, what: Happening) -> None:
        match what:
            case Described() | Admitted() | Captured() | BaselinesMeasured() | Profiled() | CatalogueAsked():
                self.surveyed[what.event] = what
                if isinstance(what, CatalogueAsked):
                    self.survey_seconds_s = self.wall_seconds_s
            case Proposed(candidate=candidate):
                self.proposed.setdefault(candidate.id, candidate)
                self._proposed_s = self.wall_seconds_s
            case Judged(verdict=verdict):
                self.verdicts[verdict.candidate_id] = verdict
            case Decided(decision=decision, final=final):
                (self.confirmed if final else self.screened)[decision.candidate.id] = decision
                if not final:
                    self.longest_screening_s = max(self.longest_screening_s, self.wall_seconds_s - self._proposed_s)
            case Challenged(candidate_id=name):
                self.challenges.append(what)
                self.confirmed[name] = what.settle(self.confirmed[name])
            case Best():
                self.best = what
            case _:
                pass

    def is_settled(self, mode: str, candidate_id: str) -> bool:
        """True when holding the candidate against that mode has nothing to add: it was done, or cannot be done."""
        of_mode = [each for each in self.challenges if each.mode == mode]
        return any(each.comparison is None or each.candidate_id == candidate_id for each in of_mode)

    def final_word(self, candidate_id: str) -> Decision | None:
        """What became of a candidate; the confirmation overrules the screening. None while it is in work."""
        return self.confirmed.get(candidate_id, self.screened.get(candidate_id))

    @property
    def admitted(self) -> Admitted | None:
        """Whether the workload was admitted; None before it was looked at."""
        found = self.surveyed.get("admitted")
        return found if isinstance(found, Admitted) else None

    @property
    def baselines(self) -> BaselinesMeasured | None:
        """The baselines' times with those of the modes that challenged later; None before they were measured."""
        found = self.surveyed.get("baselines_measured")
        if not isinstance(found, BaselinesMeasured):
            return None
        return functools.reduce(BaselinesMeasured.joined_by, self.challenges, found)


def run_state(events: Iterable[Event]) -> RunState:
    """Fold the events of one run, in order; no events give a run that has not started."""
    state = RunState()
    for event in events:
        state.hear(event)
    return state


def _between_s(begin: str, end: str) -> float:
    """Seconds between two times of the ledger; a clock that was set back counts as nothing."""
    if not begin:
        return 0.0
    return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds())
