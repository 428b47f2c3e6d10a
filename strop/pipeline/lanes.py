"""Children on the clock, and how what the clock saw of a call is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strop.pipeline.blame import owned
from strop.pipeline.court import Court
from strop.pipeline.draws import CLOCKED_RUNS, collected, draws_errors, runs_of
from strop.pipeline.gold import Gold
from strop.pipeline.layouts import made_leaves
from strop.pipeline.values import errors_as_needed
from strop.ports import ChildPort
from strop.records.evidence import Case, Distribution, Stage, ValuesEvidence
from strop.records.measurement import BASELINE, CANDIDATE
from strop.wire.tensors import Tensors

ORDER = (BASELINE, CANDIDATE, CANDIDATE, BASELINE)
TIME_CASE = Case(index=0, distribution=Distribution.OWN)


@dataclass(slots=True, kw_only=True)
class Lane:
    """One child on the clock: its arenas hold ``slots`` calls, the parameters are delivered."""

    child: ChildPort
    slots: int

    def block(self, contents: Sequence[Tensors], timeout_s: float, looked_at: int = 0) -> tuple[int, Tensors]:
        """Time one round on these contents; nanoseconds, and what lies in the slot ``looked_at`` as the clock stops."""
        self._prepare(0, contents)
        with owned(self.child):
            return self.child.time_calls(self.slots, [looked_at], timeout_s), self.child.stopped()[0]

    def chained(
        self, draws: Sequence[Tensors], key: int, timeout_s: float, looked_at: Sequence[int]
    ) -> tuple[int, list[Tensors]]:
        """Time one chained round whose inputs are made of these draws, for which the last slots are left."""
        calls = self.slots - len(draws)
        self._prepare(calls, draws)
        with owned(self.child):
            return self.child.time_calls(calls, looked_at, timeout_s, key), self.child.stopped()

    def _prepare(self, first: int, contents: Sequence[Tensors]) -> None:
        for index, arrays in enumerate(contents):
            self.child.given.write(first + index, arrays)
        self.child.made.poison(range(self.slots))


def lane(court: Court, child: ChildPort, slots: int) -> Lane:
    """Put a loaded child on the clock."""
    with owned(child):
        if child.made.layout.slots != slots:
            court.map(child, slots)
        court.deliver(child, 0)
    return Lane(child=child, slots=slots)


def judged(court: Court, inputs: Tensors, baseline: Tensors, got: Tensors, factor: float) -> ValuesEvidence:
    """The errors of one call that the clock saw: what was timed must also be right."""
    gold = Gold(case=TIME_CASE, inputs=inputs, expected=court.expect(inputs, 0), baseline=baseline)
    outputs = {leaf.path for leaf in court.description.outputs}
    if court.is_random:
        runs = runs_of(court, gold, CLOCKED_RUNS, [baseline])
        one = collected(made_leaves(court.description), runs.places, [got])
        found = draws_errors(court, gold, runs, one, factor, court.honest(gold))
    else:
        found = errors_as_needed(court, gold, got, factor)
    leaves = tuple(leaf for leaf in found if leaf.path in outputs)
    return ValuesEvidence(stage=Stage.TIME, case=TIME_CASE, leaves=leaves)
