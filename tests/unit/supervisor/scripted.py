"""Stations without torch, processes or clocks: a table says what becomes of each recipe, a list what was asked for."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from strop.records.event import (
    Admitted,
    BaselinesMeasured,
    Captured,
    CatalogueAsked,
    Challenged,
    Described,
    Event,
    Profiled,
)
from strop.records.graph import Capture
from strop.records.profile import Profile
from strop.records.workload import Description
from tests.unit.supervisor.makers import (
    BASELINE_NS,
    WORKLOAD,
    comparison,
    decide,
    judgement,
    opportunity,
    proposal,
    recipe_of,
)

SURVEY = ("describe", "admit", "capture", "baselines", "profile", "catalogue")
PROPOSALS = (proposal("fold", 300_000.0), proposal("fuse", 200_000.0), proposal("wrong", 100_000.0))
OUTCOMES = {"fold": 1.5, "fuse": 1.3, "wrong": "matches_reference", "fold ; fuse": 1.8}


class ScriptedStations:
    """``outcomes`` maps a recipe to its speedup or to the check that stops it, ``fresh`` to what confirming it finds.

    ``rivals`` maps a recipe to its speedup over a challenging mode, or to why there is none.
    ``hook`` is called with the name of each station, ``judge c`` for a candidate, before it answers; it may raise.
    ``diary`` is a file that gets one line for each judgement begun, so that several processes share one count.
    """

    def __init__(
        self,
        outcomes=None,
        fresh=None,
        proposals=PROPOSALS,
        hook: Callable[[str], None] | None = None,
        diary=None,
        rivals=None,
    ):
        self.outcomes = OUTCOMES if outcomes is None else outcomes
        self.fresh = {} if fresh is None else fresh
        self.rivals = {} if rivals is None else rivals
        self.proposals = tuple(proposals)
        self.hook = hook or (lambda what: None)
        self.diary = diary
        self.asked: list[str] = []
        self.recalled: list[str] = []
        self.closed = 0
        self.held_s = 0.0
        self.admission = Admitted(admissible=True)
        self.baseline_times = BaselinesMeasured(
            call_ns=(("eager", 2 * BASELINE_NS), ("default", BASELINE_NS)),
            failed=(("reduce-overhead", "needs a GPU"),),
            best="default",
        )

    def _ask(self, name):
        self.asked.append(name)
        self.hook(name)

    def describe(self):
        self._ask("describe")
        return Described(description=Description(parameters=(), buffers=(), inputs=(), outputs=()))

    def admit(self):
        self._ask("admit")
        return self.admission

    def capture(self):
        self._ask("capture")
        return Captured(capture=Capture(graphs=()))

    def baselines(self):
        self._ask("baselines")
        return self.baseline_times

    def profile(self):
        self._ask("profile")
        return Profiled(
            profile=Profile(workload_id=WORKLOAD.id, target="null", call_ns=BASELINE_NS, overhead_ns=0.0, kernels=()),
            opportunities=(opportunity(("a",), 500_000.0, 400_000.0), opportunity(("b",), 500_000.0, 400_000.0)),
        )

    def catalogue(self):
        self._ask("catalogue")
        return CatalogueAsked(proposals=self.proposals, declines=())

    def recall(self, what):
        self.recalled.append(what.event)

    def judge(self, candidate, *, fresh):
        recipe = str(recipe_of(candidate))
        if self.diary is not None:
            with Path(self.diary).open("a") as diary:
                diary.write(f"{'again' if fresh else 'first'} {recipe}\n")
        self._ask(f"{'again' if fresh else 'first'} {recipe}")
        self.held_s += 1.0
        found = self.outcomes.get(recipe, "builds")
        return judgement(candidate, self.fresh.get(recipe, found) if fresh else found)

    def decide(self, candidate, judgement):
        return decide(candidate, judgement)

    def challenge(self, keep, mode):
        recipe = str(recipe_of(keep.candidate))
        self._ask(f"{mode} against {recipe}")
        found = self.rivals.get(recipe, "did not finish in 60 s")
        if isinstance(found, str):
            return Challenged(mode=mode, candidate_id=keep.candidate.id, because=found)
        timed = replace(comparison(found), baseline=mode, baseline_ns=keep.comparison.candidate_ns * found)
        outdoes = found < keep.comparison.speedup
        return Challenged(mode=mode, candidate_id=keep.candidate.id, comparison=timed, outdoes=outdoes)

    def device_seconds_s(self):
        return self.held_s

    def close(self):
        self.closed += 1

    @property
    def judged(self):
        return [name for name in self.asked if name.startswith(("first ", "again "))]


class ListLedger:
    """A ledger in memory; ``fail_at`` makes the append of that sequence raise."""

    def __init__(self):
        self.kept: list[Event] = []
        self.hook: Callable[[int], None] = lambda sequence: None

    def append(self, run, what):
        sequence = 1 + sum(event.run == run for event in self.kept)
        self.hook(sequence)
        event = Event(run=run, sequence=sequence, at=f"2026-11-30T08:00:{len(self.kept) % 60:02d}.000+00:00", what=what)
        self.kept.append(event)
        return event

    def events(self, run):
        return iter([event for event in self.kept if event.run == run])

    def runs(self):
        return list(dict.fromkeys(event.run for event in reversed(self.kept)))


class Clock:
    """Stands still until told otherwise."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s
