"""The clock: blocks of calls in the order baseline, candidate, candidate, baseline; the parent's time, the parent's
snapshot, graded results.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from strop.pipeline.blame import owned
from strop.pipeline.court import Court
from strop.pipeline.gold import Gold
from strop.pipeline.slots import Supply, most_slots, slots_for, supply
from strop.pipeline.values import errors_as_needed
from strop.ports import ChildPort
from strop.records.evidence import Case, Distribution, Stage, ValuesEvidence
from strop.records.measurement import BASELINE, CANDIDATE, Block, Comparison, Conditions
from strop.stats.compare import FALSE_FASTER_RATE, Effect, compare_blocks, estimate, pair_log_ratios
from strop.stats.sequential import Plan, consider
from strop.wire.messages import AskMemory, MemoryReply
from strop.wire.tensors import Tensors

ORDER = (BASELINE, CANDIDATE, CANDIDATE, BASELINE)
GRADED_SHARE = 0.5
"""So likely is each pair to be judged by value. The lot is drawn when it was timed, whatever came before it: to feel
that others were judged, or to count rounds, says nothing about the next.
"""
FEW_SLOTS = 4
TIME_CASE = Case(index=0, distribution=Distribution.OWN)


@dataclass(slots=True, kw_only=True)
class Lane:
    """One child on the clock: its arenas hold ``slots`` calls, the parameters are delivered."""

    child: ChildPort
    slots: int

    def block(self, contents: Sequence[Tensors], timeout_s: float, looked_at: int = 0) -> tuple[int, Tensors]:
        """Time one round on these contents; nanoseconds, and what lies in the slot ``looked_at`` as the clock stops."""
        for index, arrays in enumerate(contents):
            self.child.given.write(index, arrays)
        self.child.made.poison(range(self.slots))
        with owned(self.child):
            return self.child.time_calls(self.slots, looked_at, timeout_s), self.child.stopped()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the call on ``slot`` of a round on these contents left."""

    contents: Sequence[Tensors]
    slot: int
    got: Tensors


@dataclass(slots=True, kw_only=True)
class Clock:
    """Pairs of rounds for one baseline and one candidate, and the graded results of the candidate's rounds."""

    court: Court
    conditions: Conditions
    factor: float
    blocks: list[Block] = field(default_factory=list[Block])
    graded: list[ValuesEvidence] = field(default_factory=list[ValuesEvidence])

    def time_pairs(self, baseline: ChildPort, candidate: ChildPort, looks: Plan, process: int) -> float:
        """Time pairs until a look says stop; returns the share of false "faster" that this look may spend."""
        court = self.court
        slots = slots_for(court.description, court.target, call_time_ns(court, baseline))
        lanes = {BASELINE: lane(court, baseline, slots), CANDIDATE: lane(court, candidate, slots)}
        source = supply(court)
        null = lane(court, court.null, slots)
        warm = source.round(slots)
        for warmed in (*lanes.values(), null):
            warmed.block(warm, court.timeouts.run_s)
        done, graded_before = 0, len(self.graded)
        for look, pairs in enumerate(looks.looks):
            for pair in range(done, pairs):
                answers = self._pair(lanes, null, source, pair, process)
                is_last_chance = pair == pairs - 1 and len(self.graded) == graded_before
                if is_last_chance or random.SystemRandom().random() < GRADED_SHARE:
                    for answer in answers:
                        self._grade(lanes[BASELINE], answer)
            done = pairs
            if consider(looks, look, self._effect(process)).stop:
                break
        return looks.spend(looks.looks.index(done))

    def _effect(self, process: int) -> Effect:
        return estimate(pair_log_ratios([block for block in self.blocks if block.process == process]))

    def _pair(self, lanes: dict[str, Lane], null: Lane, source: Supply, pair: int, process: int) -> list[Answer]:
        """Time one pair; an answer of each of the candidate's rounds."""
        slots = null.slots
        timeout_s = self.court.timeouts.run_s
        null_ns, _ = null.block(source.round(slots), timeout_s)
        answers: list[Answer] = []
        for side in ORDER:
            # No round repeats an earlier one: an answer that was remembered is never asked for again.
            contents, slot = source.round(slots), _secret(slots)
            elapsed_ns, got = lanes[side].block(contents, timeout_s, slot)
            self.blocks.append(
                Block(
                    side=side,
                    pair=pair,
                    process=process,
                    calls=slots,
                    elapsed_ns=elapsed_ns,
                    null_ns=min(null_ns, elapsed_ns),
                )
            )
            if side == CANDIDATE:
                answers.append(Answer(contents=contents, slot=slot, got=got))
        return answers

    def _grade(self, baseline: Lane, answer: Answer) -> None:
        """Judge an answer of the candidate: what the clock saw must also be right.

        The baseline answers the same contents beside it, off the clock.
        """
        _, beside = baseline.block(answer.contents, self.court.timeouts.run_s, answer.slot)
        inputs = answer.contents[answer.slot]
        gold = Gold(
            case=TIME_CASE,
            inputs=inputs,
            expected=self.court.expect(inputs, 0),
            baseline=beside,
        )
        outputs = {leaf.path for leaf in self.court.description.outputs}
        found = errors_as_needed(self.court, gold, answer.got, self.factor)
        leaves = tuple(leaf for leaf in found if leaf.path in outputs)
        self.graded.append(ValuesEvidence(stage=Stage.TIME, case=TIME_CASE, leaves=leaves))


def _secret(slots: int) -> int:
    """The call of a round that is looked at. All are equally likely: what is preferred could be worked on alone."""
    return random.SystemRandom().randrange(slots)


def lane(court: Court, child: ChildPort, slots: int) -> Lane:
    """Put a loaded child on the clock."""
    with owned(child):
        if child.made.layout.slots != slots:
            court.map(child, slots)
        court.deliver(child, 0)
    return Lane(child=child, slots=slots)


def call_time_ns(court: Court, child: ChildPort, rounds: int = 3) -> float:
    """Median time of one call on few slots, hand-off included: for planning and for choosing the best baseline."""
    slots = min(FEW_SLOTS, most_slots(court.description, court.target))
    clocked = lane(court, child, slots)
    source = supply(court)
    times = [clocked.block(source.round(slots), court.timeouts.run_s)[0] for _ in range(rounds + 1)]
    return statistics.median(times[1:]) / slots


def compare(
    court: Court,
    conditions: Conditions,
    factor: float,
    lanes: Callable[[int], tuple[ChildPort, ChildPort]],
    *,
    processes: int,
    looks: Plan,
) -> tuple[Comparison, tuple[ValuesEvidence, ...]]:
    """Time ``processes`` pairs of children, each handed out by ``lanes``; one comparison over all of them.

    Up to ``factor`` times the baseline's error a result is right without asking the model of honest rounding.
    """
    clock = Clock(court=court, conditions=conditions, factor=factor)
    ratios: list[float] = []
    rate = FALSE_FASTER_RATE
    for process in range(processes):
        baseline, candidate = lanes(process)
        court.null  # noqa: B018 - loaded now, because nothing is while the clock runs
        with court.device(timed=True):
            rate = clock.time_pairs(baseline, candidate, looks, process)
            memory = memory_ratio(court, baseline, candidate)
        ratios += [memory] if memory is not None else []
    comparison = compare_blocks(
        clock.blocks,
        baseline=court.baseline_mode,
        conditions=(conditions,),
        false_faster_rate=rate if processes == 1 else FALSE_FASTER_RATE,
        peak_memory_ratio=statistics.median(ratios) if ratios else None,
    )
    return comparison, tuple(clock.graded)


def memory_ratio(court: Court, baseline: ChildPort, candidate: ChildPort) -> float | None:
    """Peak memory of one call, candidate over baseline; None where the baseline's is too small to be seen."""

    def peak_bytes(child: ChildPort) -> int:
        with owned(child):
            reply = child.ask(AskMemory(), MemoryReply, court.timeouts.run_s)
        court.held_bytes = max(court.held_bytes, reply.held_bytes)
        return reply.peak_bytes

    theirs, mine = peak_bytes(baseline), peak_bytes(candidate)
    return mine / theirs if theirs > 0 else None
