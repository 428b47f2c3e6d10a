"""The clock: blocks of calls in the order baseline, candidate, candidate, baseline; the parent's time, the parent's
snapshot, graded results.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from strop.pipeline.blame import owned
from strop.pipeline.chain import ChainedClock
from strop.pipeline.court import Court
from strop.pipeline.draws import together
from strop.pipeline.lanes import ORDER, Lane, judged, lane
from strop.pipeline.slots import Supply, most_slots, slots_for, supply
from strop.ports import ChildPort
from strop.records.evidence import ChainEvidence, ValuesEvidence
from strop.records.measurement import BASELINE, CANDIDATE, Block, Comparison, Conditions
from strop.stats.compare import FALSE_FASTER_RATE, Effect, compare_blocks, estimate, pair_log_ratios
from strop.stats.sequential import Plan, consider
from strop.wire.messages import AskMemory, MemoryReply
from strop.wire.tensors import Tensors

GRADED_SHARE = 0.5
"""So likely is each pair to be judged by value. The lot is drawn when it was timed, whatever came before it: to feel
that others were judged, or to count rounds, says nothing about the next.
"""
FEW_SLOTS = 4


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

    def time_pairs(
        self, baseline: ChildPort, candidate: ChildPort, looks: Plan, process: int, chain: ChainedClock | None = None
    ) -> float:
        """Time pairs until a look says stop, each followed by one of the chain if there is one; returns the share of
        false "faster" that this look may spend.
        """
        court = self.court
        source = supply(court)
        slots = source.fewer(slots_for(court.description, court.target, call_time_ns(court, baseline)))
        lanes = {BASELINE: lane(court, baseline, slots), CANDIDATE: lane(court, candidate, slots)}
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
                if chain is not None:
                    chain.time_pair(lanes, null, source, pair, process, is_last=pair == pairs - 1)
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
        self.graded.append(judged(self.court, inputs, beside, answer.got, self.factor))


def _secret(slots: int) -> int:
    """The call of a round that is looked at. All are equally likely: what is preferred could be worked on alone."""
    return random.SystemRandom().randrange(slots)


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
    chained: bool = False,
) -> tuple[Comparison, tuple[ValuesEvidence | ChainEvidence, ...]]:
    """Time ``processes`` pairs of children, each handed out by ``lanes``; one comparison over all of them. ``chained``:
    with rounds of chained calls in the last pair.

    Up to ``factor`` times the baseline's error a result is right without asking the model of honest rounding.
    """
    clock = Clock(court=court, conditions=conditions, factor=factor)
    chain = ChainedClock(court=court, factor=factor) if chained else None
    ratios: list[float] = []
    rate = FALSE_FASTER_RATE
    for process in range(processes):
        baseline, candidate = lanes(process)
        court.null  # noqa: B018 - loaded now, because nothing is while the clock runs
        with court.device(timed=True):
            rate = clock.time_pairs(baseline, candidate, looks, process, chain if process == processes - 1 else None)
            memory = memory_ratio(court, baseline, candidate)
        ratios += [memory] if memory is not None else []
    comparison = compare_blocks(
        clock.blocks,
        baseline=court.baseline_mode,
        conditions=(conditions,),
        false_faster_rate=rate if processes == 1 else FALSE_FASTER_RATE,
        peak_memory_ratio=statistics.median(ratios) if ratios else None,
    )
    graded = together(clock.graded)
    if chain is None:
        return comparison, graded
    comparison = replace(comparison, chained=chain.beside(clock.blocks))
    return comparison, (*graded, ChainEvidence(comparison=comparison, links=together(chain.links)))


def memory_ratio(court: Court, baseline: ChildPort, candidate: ChildPort) -> float | None:
    """Peak memory of one call, candidate over baseline; None where the baseline's is too small to be seen."""

    def peak_bytes(child: ChildPort) -> int:
        with owned(child):
            reply = child.ask(AskMemory(), MemoryReply, court.timeouts.run_s)
        court.held_bytes = max(court.held_bytes, reply.held_bytes)
        return reply.peak_bytes

    theirs, mine = peak_bytes(baseline), peak_bytes(candidate)
    return mine / theirs if theirs > 0 else None
