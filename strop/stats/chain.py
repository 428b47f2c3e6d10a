"""The chained clock beside the published one: is what a candidate saves still saved when each call has to wait for the
results of the one before it?
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from strop.records.measurement import BASELINE, CANDIDATE, Block, Chained
from strop.stats.compare import INTERVAL
from strop.stats.rounds import call_ns, raw_ns
from strop.stats.student import student_quantile

FALSE_ALARM_RATE = 2e-3
"""The level of each of the two tests that a saving has to fail before it counts as lost; both fail far less often."""
LEAST_LEFT = 1e-3
"""Of the baseline's call at least so much is taken to be left, or no number would hold the speedup."""

_Figures = NDArray[np.float64]


def agreement(batched: Sequence[Block], chained: Sequence[Block]) -> Chained:
    """Hold pairs of chained rounds against the pairs of the published kind that were timed beside them, in one process.

    What is compared is the time saved per call, baseline less candidate: making the inputs costs both sides the same
    and drops out, however much it is. All figures are shares of the baseline's published call of the same pair, so that
    a machine that is slower for a while is slower on both sides of the comparison. By how much a call becomes another
    one only because it is chained (its inputs are warm, its own data less so) the baseline shows, whose chained time
    less the null worker's is held against its published time. A saving counts as lost where more is lost than that, in
    whichever direction it goes. Student's distribution over pairs gives all intervals.

    Raises:
        ValueError: there are fewer than two pairs.
    """
    beside = _by_pair(batched), _by_pair(chained)
    rows = [_figures(beside[0][pair], theirs) for pair, theirs in beside[1].items()]
    left, lost, shift, glue = np.array(rows).T
    sure_lost = (float(beyond.mean()) - _reach(beyond, 1 - FALSE_ALARM_RATE) for beyond in (lost - shift, lost + shift))
    reach = _reach(left, (1 + INTERVAL) / 2)
    return Chained(
        speedup=_over(float(left.mean())),
        low=_over(float(left.mean()) + reach),
        high=_over(float(left.mean()) - reach),
        lost_ratio=float(lost.mean()),
        least_lost_ratio=min(sure_lost),
        shift_ratio=float(shift.mean()),
        glue_ratio=float(glue.mean()),
        pairs=len(rows),
    )


def _by_pair(blocks: Sequence[Block]) -> dict[int, list[Block]]:
    pairs: dict[int, list[Block]] = {}
    for block in blocks:
        pairs.setdefault(block.pair, []).append(block)
    return pairs


def _figures(batched: Sequence[Block], chained: Sequence[Block]) -> tuple[float, float, float, float]:
    """Of one pair: what is left of the baseline's call by the saving that the chain shows, what is lost of the saving,
    the baseline's own shift, the glue.
    """
    own_ns = {side: _mean([call_ns(block) for block in batched if block.side == side]) for side in _SIDES}
    raw = {side: _mean([raw_ns(block) for block in chained if block.side == side]) for side in _SIDES}
    null_ns = _mean([block.null_ns / block.calls for block in chained])
    whole_ns = own_ns[BASELINE]
    saved = (raw[BASELINE] - raw[CANDIDATE]) / whole_ns
    claimed = (whole_ns - own_ns[CANDIDATE]) / whole_ns
    return 1 - saved, claimed - saved, (raw[BASELINE] - null_ns - whole_ns) / whole_ns, null_ns / whole_ns


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _reach(values: _Figures, probability: float) -> float:
    quantile = student_quantile(probability, len(values) - 1)
    return quantile * float(values.std(ddof=1)) / math.sqrt(len(values))


def _over(left: float) -> float:
    return 1 / max(left, LEAST_LEFT)


_SIDES = (BASELINE, CANDIDATE)
