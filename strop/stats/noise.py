"""How noisy the baseline is against itself, and the smallest gain that a given effort could show."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from strop.records.measurement import BASELINE, Block
from strop.stats.rounds import call_ns
from strop.stats.student import normal_quantile, student_quantile

# A normal deviate's standard deviation over its median absolute deviation.
_MAD_TO_SIGMA = 1 / normal_quantile(0.75)


def _baseline_steps(blocks: Sequence[Block]) -> NDArray[np.float64]:
    """Log ratios of each baseline block to the next one of the same process, in the order measured."""
    by_process: dict[int, list[float]] = {}
    for block in blocks:
        if block.side == BASELINE:
            by_process.setdefault(block.process, []).append(math.log(call_ns(block)))
    steps = [np.diff(np.array(logs)) for logs in by_process.values()]
    return np.concatenate(steps) if steps else np.zeros(0)


def noise_ratio(blocks: Sequence[Block]) -> float:
    """Spread of the baseline against itself: the robust standard deviation of one block's logarithm (0.01 is one
    percent).

    Neighbouring blocks of one process are compared, so a slow drift does not count; the spread is 1.48 times the median
    absolute step over sqrt(2). Less than two blocks in every process give 0: no noise was seen.
    """
    steps = _baseline_steps(blocks)
    if steps.size == 0:
        return 0.0
    return float(np.median(np.abs(steps))) * _MAD_TO_SIGMA / math.sqrt(2)


def smallest_gain_ratio(
    noise: float,
    *,
    pairs: int,
    processes: int,
    between_ratio: float = 0.0,
    false_rate: float = 0.01,
    power: float = 0.8,
) -> float:
    """Smallest speed-up, as its excess over 1, that would be shown in ``power`` of cases.

    ``pairs`` A B B A pairs are measured in each of ``processes`` processes.

    Args:
        noise: of one block, as ``noise_ratio`` gives it. A pair's log ratio has this spread too (two blocks a side).
        between_ratio: spread of the log ratio from one process pair to the next.

    Raises:
        ValueError: fewer than two pairs in all.
    """
    degrees = processes - 1 if processes > 1 else pairs - 1
    error = math.sqrt((between_ratio**2 + noise**2 * _MEDIAN_COST / pairs) / processes)
    reach = student_quantile(1 - false_rate, degrees) + student_quantile(power, degrees)
    return math.expm1(reach * error)


# Variance of a median over that of a mean, for normal deviates and many samples.
_MEDIAN_COST = math.pi / 2


def worth_ns(call_ns: float, noise: float, *, pairs: int, processes: int, between_ratio: float = 0.0) -> float:
    """Smallest gain per call, in ns, that is worth trying for.

    Less could not be told from noise, and less than 1 % is not called faster.
    """
    gain = smallest_gain_ratio(noise, pairs=pairs, processes=processes, between_ratio=between_ratio)
    speedup = max(1.01, 1 + gain)
    return call_ns * (1 - 1 / speedup)
