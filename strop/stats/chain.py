"""The chained clock beside the published one: is what a candidate saves still saved when each call has to wait for the
results of the one before it?
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from strop.records.measurement import BASELINE, CANDIDATE, OPEN_SPEEDUP, Block, Chained
from strop.stats.compare import INTERVAL
from strop.stats.rounds import call_ns, raw_ns

FALSE_ALARM_RATE = 1 / 400
"""So often chance may make a saving seem lost where exactly as much is lost as chaining may change; where nothing is,
it does so far less often.
"""


def agreement(batched: Sequence[Block], chained: Sequence[Block]) -> Chained:
    """Hold pairs of chained rounds against the pairs of the published kind that were timed beside them, in one process.

    What is compared is the time saved per call, baseline less candidate: making the inputs costs both sides the same
    and drops out, however much it is. All figures are shares of the baseline's published call beside them, so that a
    machine that is slower for a while is slower on both sides of the comparison. By how much a call becomes another
    one only because it is chained (its inputs are warm, its own data less so) the baseline shows, whose chained time
    less the null worker's is held against its published time.

    Each pair gives two samples, the first baseline and candidate and the last ones. A saving counts as lost when more
    of it is lost than the baseline shifted, in whichever direction, in so many samples as a fair coin would hardly
    ever show heads. That asks nothing of the noise: one round that was disturbed spoils one sample and no more. The
    interval is that of a median, by the order of the samples, for the same reason.

    Raises:
        ValueError: so few pairs that chance alone could make all samples agree.
    """
    beside = _by_pair(batched)
    samples = [
        _figures(published, theirs)
        for pair, blocks in _by_pair(chained).items()
        for published, theirs in zip(_halves(beside[pair]), _halves(blocks), strict=True)
    ]
    left, lost, shift, glue = np.array(samples).T
    count = len(samples)
    if FALSE_ALARM_RATE * 2**count < 1:
        raise ValueError(f"{count // 2} chained pairs say nothing that chance could not say: time at least five")
    inside, wanted = sorted(left), sorted(lost - abs(shift))
    outside = _misses(count, (1 - INTERVAL) / 2)
    return Chained(
        speedup=_over(float(np.median(left))),
        low=_over(float(inside[-1 - outside])),
        high=_over(float(inside[outside])),
        lost_ratio=float(np.median(lost)),
        least_lost_ratio=float(wanted[_misses(count, FALSE_ALARM_RATE)]),
        shift_ratio=float(np.median(shift)),
        glue_ratio=float(np.median(glue)),
        pairs=count // 2,
    )


def _misses(count: int, rate: float) -> int:
    """The most tails among ``count`` tosses of a fair coin of which so many or fewer are as rare as this."""
    misses, ways = 0, 1 + count
    while ways <= rate * 2**count:
        misses += 1
        ways += math.comb(count, misses + 1)
    return misses


def _by_pair(blocks: Sequence[Block]) -> dict[int, list[Block]]:
    pairs: dict[int, list[Block]] = {}
    for block in blocks:
        pairs.setdefault(block.pair, []).append(block)
    return pairs


def _halves(pair: Sequence[Block]) -> tuple[tuple[Block, Block], tuple[Block, Block]]:
    """First and last baseline of a pair, each with the candidate beside it."""
    first, last = (block for block in pair if block.side == BASELINE)
    one, other = (block for block in pair if block.side == CANDIDATE)
    return (first, one), (last, other)


def _figures(published: tuple[Block, Block], chained: tuple[Block, Block]) -> tuple[float, float, float, float]:
    """Of one sample: what is left of the baseline's call by the saving that the chain shows, what is lost of the
    saving, the baseline's own shift, the glue.
    """
    whole_ns, short_ns = (call_ns(block) for block in published)
    baseline_ns, candidate_ns = (raw_ns(block) for block in chained)
    null_ns = chained[0].null_ns / chained[0].calls
    saved = (baseline_ns - candidate_ns) / whole_ns
    claimed = 1 - short_ns / whole_ns
    return 1 - saved, claimed - saved, (baseline_ns - null_ns) / whole_ns - 1, null_ns / whole_ns


def _over(left: float) -> float:
    return 1 / max(left, 1 / OPEN_SPEEDUP)
