"""One candidate from the first byte to the comparison: the cascade, the clock, and what the clock's results say."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import dataclass, field

from strop.checks._base import Rules
from strop.errors import ChildFault
from strop.pipeline.cases import Plan, full_plan, screening_plan
from strop.pipeline.court import Court
from strop.pipeline.gold import within_memory
from strop.pipeline.measure import compare
from strop.pipeline.variants import judge_variants
from strop.pipeline.verify import Cascade, crash_at, verify
from strop.ports import ChildPort
from strop.records.candidate import Candidate, RecipeForm
from strop.records.decision import Judgement
from strop.records.evidence import Stage, TimingEvidence
from strop.records.measurement import Comparison, Conditions
from strop.records.workload import Description
from strop.stats.roofline import physical_floor_ns
from strop.stats.sequential import Plan as Looks
from strop.wire.messages import ChildRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """What no implementation can avoid, per call."""

    minimal_bytes: int
    product_flop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """How much is spent on one candidate. Without ``looks`` the clock is left out; ``chained`` adds its check,
    which takes five pairs in the last process.
    """

    plan: Callable[[Description], Plan]
    processes: int
    looks: Looks | None
    chained: bool = False


SCREENING = Depth(plan=screening_plan, processes=1, looks=Looks((3, 5, 8)))
CONFIRMATION = Depth(plan=full_plan, processes=3, looks=Looks((5,)), chained=True)
VERIFICATION = Depth(plan=full_plan, processes=0, looks=None)


@within_memory()
def judge(
    court: Court, candidate: Candidate, rules: Rules, conditions: Conditions, floor: Floor, depth: Depth
) -> Judgement:
    """Judge once; a fault of our own machinery is no candidate's fault and is tried once more."""
    judgement, ours = _judge_once(court, candidate, rules, conditions, floor, depth)
    if ours:
        judgement, _ = _judge_once(court, candidate, rules, conditions, floor, depth)
    return judgement


def role_of(candidate: Candidate) -> ChildRole:
    """Whether its child runs code that the candidate brought, or steps of Strop's own."""
    form = candidate.form
    own = isinstance(form, RecipeForm) and not form.recipe.brings_code
    return ChildRole.RECIPE if own else ChildRole.CANDIDATE


def _judge_once(
    court: Court, candidate: Candidate, rules: Rules, conditions: Conditions, floor: Floor, depth: Depth
) -> tuple[Judgement, bool]:
    comparison = None
    court.step_down()
    with ExitStack() as stack:
        child = stack.enter_context(court.wall.child(role_of(candidate)))
        lanes = _Pairs(court=court, candidate=candidate, first=child, processes=depth.processes, stack=stack)
        if depth.looks:
            court.expect_clock()
            lanes.expect()
        plan = depth.plan(court.description)
        cascade = verify(court, child, candidate, rules, plan)
        if cascade.passing:
            judge_variants(court, child, candidate, plan.variants, cascade)
        if depth.looks and cascade.passing:
            comparison = _timed(court, lanes, conditions, floor, depth.looks, cascade, chained=depth.chained)
    verdict = cascade.verdict(candidate, court.wall.isolation)
    return Judgement(verdict=verdict, comparison=comparison), cascade.infrastructure


def _timed(
    court: Court,
    lanes: _Pairs,
    conditions: Conditions,
    floor: Floor,
    looks: Looks,
    cascade: Cascade,
    *,
    chained: bool,
) -> Comparison | None:
    """Time it, then judge what the clock saw."""

    try:
        comparison, graded = compare(
            court, conditions, cascade.factor, lanes, processes=lanes.processes, looks=looks, chained=chained
        )
    except ChildFault as fault:
        cascade.hear(Stage.TIME, crash_at(Stage.TIME, fault))
        return None
    for evidence in graded:
        cascade.hear(Stage.TIME, evidence)
    cascade.hear(Stage.PLAUSIBILITY, _plausibility(court, comparison, floor))
    return comparison


@dataclass(slots=True, kw_only=True)
class _Pairs:
    """Pairs of children for the clock: one pair is baseline and candidate as they are; of several each is fresh, but
    for the first candidate, which was judged. ``stack`` ends them.

    The children of all pairs are made at once where there is room for them beside one another.
    """

    court: Court
    candidate: Candidate
    first: ChildPort
    processes: int
    stack: ExitStack
    _begun: list[Future[ChildPort]] = field(default_factory=list[Future[ChildPort]])
    _done: tuple[ChildPort, ...] = ()

    def expect(self) -> None:
        """Begin to load them while the candidate is still verified, if there are processors to spare."""
        if self.court.spare and self.processes > 1 and self._has_room:
            self._begin(0)

    def __call__(self, process: int) -> tuple[ChildPort, ChildPort]:
        if self.processes == 1:
            return self.court.baseline, self.first
        for child in self._done:
            child.close()
        if not self._begun:
            self._begin(process)
        # Nothing is loaded beside a running clock.
        wait(self._begun)
        baseline = self._begun.pop(0).result()
        self._done = baseline, self._begun.pop(0).result() if process else self.first
        return self._done

    @property
    def _has_room(self) -> bool:
        return self.court.has_room_for(2 * self.processes)

    def _begin(self, process: int) -> None:
        """Load the pairs from ``process`` on, or that one alone."""
        pairs = self.processes - process if self._has_room else 1
        wanted = [self.court.baseline_wanted, (role_of(self.candidate), self.candidate.form)] * pairs
        if process == 0:
            del wanted[1]
        self._begun = self.court.begun(self.stack, wanted)


def _plausibility(court: Court, comparison: Comparison, floor: Floor) -> TimingEvidence:
    """The comparison beside the time that nothing can beat on this machine."""
    return TimingEvidence(
        comparison=comparison,
        minimal_bytes=floor.minimal_bytes,
        product_flop=floor.product_flop,
        floor_ns=physical_floor_ns(
            floor.minimal_bytes, court.target.last_level_cache_bytes, floor.product_flop, court.target.ceilings
        ),
    )
