"""The score of many workloads: the geometric mean of their speedups, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strop.records.measurement import Comparison
from strop.stats.compare import INTERVAL
from strop.stats.student import student_quantile

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Gain:
    """The logarithm of one workload's speedup with its standard error; both 0 where the compiler's version stays."""

    log_ratio: float = 0.0
    error: float = 0.0


UNIMPROVED = Gain()


@dataclass(frozen=True, slots=True)
class Mean:
    """A geometric mean of speedups with its 95 % interval."""

    geomean: float
    low: float
    high: float


def gain_of(comparison: Comparison) -> Gain:
    """A comparison as a gain. Its interval is the point plus and minus Student's quantile times the standard error, so
    the error is read back from the half width, with the degrees of freedom with which it was made: processes less one,
    or pairs less one within a single process.
    """
    degrees = comparison.processes - 1 if comparison.processes > 1 else max(1, comparison.pairs - 1)
    half_width = (math.log(comparison.high) - math.log(comparison.low)) / 2
    return Gain(math.log(comparison.speedup), half_width / student_quantile((1 + INTERVAL) / 2, degrees))


def geometric_mean(gains: Sequence[Gain], *, resamples: int = RESAMPLES, seed: int = 0) -> Mean | None:
    """The geometric mean of the speedups with the percentile interval of a two-level bootstrap; None of nothing.

    Each resample draws as many workloads as there are, with replacement, and moves each by a normal error of its own
    standard error. The first level asks what other workloads of this kind would have given, the second what another
    measurement of the same ones would have. One workload alone has only the second. What was not improved is exactly 1
    by definition: the compiler's version stays, so there is nothing to measure. The errors of many workloads average
    out whatever their distribution, which is why a normal one serves here although each interval was Student's.

    Sources: Davison and Hinkley, Bootstrap Methods and their Application, 3.8 (hierarchical data); Efron and
    Tibshirani, An Introduction to the Bootstrap, 13.3 (percentile intervals); Fleming and Wallace, How not to lie with
    statistics, CACM 1986 (ratios are averaged geometrically).
    """
    if not gains:
        return None
    logs: NDArray[np.float64] = np.array([gain.log_ratio for gain in gains])
    errors: NDArray[np.float64] = np.array([gain.error for gain in gains])
    random = np.random.default_rng(seed)
    drawn = random.integers(0, len(gains), (resamples, len(gains)))
    means = (logs[drawn] + errors[drawn] * random.standard_normal(drawn.shape)).mean(axis=1)
    low, high = np.quantile(means, ((1 - INTERVAL) / 2, (1 + INTERVAL) / 2))
    return Mean(math.exp(float(logs.mean())), math.exp(float(low)), math.exp(float(high)))
