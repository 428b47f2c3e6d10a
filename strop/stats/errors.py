"""What is made of error figures: how far honest rounding may stray, and how two sides' errors compare."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strop.records.evidence import ErrorQuantiles, LeafErrors
from strop.records.tensor import DType
from strop.stats.student import student_quantile

Values = NDArray[np.float64]

HONEST_SAMPLES = 4
"""How many honest-rounding samples a case should have: fewer widen the limit of ``envelope``, more cost fp64 runs."""

QUANTILES = (0.5, 0.99, 0.999)
NO_ERROR = ErrorQuantiles(p50=0.0, p99=0.0, p999=0.0, max=0.0)

_FEW_ELEMENTS = 16


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """One storage format: half an ulp at 1, the smallest normal number, the largest finite one."""

    unit_roundoff: float
    smallest_normal: float
    largest: float

    @property
    def overflow(self) -> float:
        """Magnitudes from here on round to infinity."""
        return self.largest * (1 + self.unit_roundoff / 2)


_SINGLE = FloatFormat(2.0**-24, 2.0**-126, (2 - 2.0**-23) * 2.0**127)
_DOUBLE = FloatFormat(2.0**-53, 2.0**-1022, float(np.finfo(np.float64).max))
FORMATS = {
    DType.FLOAT64: _DOUBLE,
    DType.COMPLEX128: _DOUBLE,
    DType.FLOAT32: _SINGLE,
    DType.COMPLEX64: _SINGLE,
    DType.FLOAT16: FloatFormat(2.0**-11, 2.0**-14, 65504.0),
    DType.BFLOAT16: FloatFormat(2.0**-8, 2.0**-126, (2 - 2.0**-7) * 2.0**127),
}


def envelope(samples: Sequence[ErrorQuantiles], elements: int) -> ErrorQuantiles:
    """How far honest rounding may stray, from a few samples of it: per quantile, at least the largest seen.

    Samples of large outputs agree and the limit stays at what was seen. Where they scatter (few elements, or one shared
    error such as that of a norm that divides everything) the largest of three or four draws says little about the next
    one, so the limit is the 99.5 % prediction limit for one further draw: mean + t s sqrt(1 + 1/k). Below 16 elements a
    quantile is itself a single draw and its spread not to be trusted: there the limit is t(0.999, k) times the root
    mean square of the draws.

    Source of the limit: Hahn and Meeker, Statistical Intervals, prediction of one further observation from a normal
    sample.
    """
    if not samples:
        return NO_ERROR
    table = _table(samples)
    count = len(samples)
    limit = table.max(axis=0)
    if elements < _FEW_ELEMENTS:
        further = student_quantile(0.999, count) * np.sqrt(np.square(table).mean(axis=0))
        limit = np.maximum(limit, further)
    elif count > 1:
        spread = table.std(axis=0, ddof=1) * math.sqrt(1 + 1 / count)
        limit = np.maximum(limit, table.mean(axis=0) + student_quantile(0.995, count - 1) * spread)
    p50, p99, p999, largest = (float(value) for value in np.maximum.accumulate(limit))
    return ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=largest)


def error_ratio(leaves: Sequence[LeafErrors]) -> float:
    """The candidate's error over the baseline's, both against fp64: the worst quantile of the worst case.

    ``leaves`` are those of all cases; the ratio is taken per path. The baseline's error in a case counts as at least
    what it typically is beside honest rounding (the 90 % point over the cases of the same path): otherwise one case in
    which the baseline was lucky would make any candidate look bad. Where honest rounding was not asked about, the
    baseline's error stands alone. 0 when there is nothing to compare.
    """
    worst = 0.0
    for path in {leaf.path for leaf in leaves}:
        own = [leaf for leaf in leaves if leaf.path == path]
        candidate = _table([leaf.candidate for leaf in own])
        baseline = _table([leaf.baseline for leaf in own])
        honest = _table([leaf.honest or NO_ERROR for leaf in own])
        floor = np.array([[leaf.floor] for leaf in own], dtype=np.float64)
        share = np.divide(baseline, honest, out=np.zeros_like(baseline), where=honest > 0)
        usual = np.quantile(share, 0.9, axis=0, method="inverted_cdf") * honest
        ground = np.maximum(np.maximum(baseline, usual), floor)
        ratio = np.divide(candidate, ground, out=np.zeros_like(candidate), where=ground > 0)
        worst = max(worst, float(ratio.max()))
    return worst


def covered(leaf: LeafErrors, factor: float) -> bool:
    """True when the baseline's own error covers the candidate's, so that honest rounding, whose model costs several
    runs in double precision, can change neither the verdict nor whether the error ratio is below ``factor``.
    """
    floor, pairs = leaf.floor, zip(leaf.candidate.as_tuple(), leaf.baseline.as_tuple(), strict=True)
    # The first limit is the verdict's without honest rounding, the second the error ratio's; either may be the lower.
    near = all(
        candidate <= min(factor * baseline + floor, factor * max(baseline, floor)) for candidate, baseline in pairs
    )
    return near and leaf.exact_mismatches <= int(factor * leaf.baseline_exact_mismatches)


def _table(rows: Sequence[ErrorQuantiles]) -> Values:
    return np.array([row.as_tuple() for row in rows], dtype=np.float64)
