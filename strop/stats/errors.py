"""Errors against fp64: quantiles, the smallest error that counts, and how far honest rounding may stray."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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

_EXACT_BELOW = 1 << 24
_CHUNK = 1 << 22
_FEW_ELEMENTS = 16
# Bins of the histogram are the 11 exponent bits and the first 7 bits of the mantissa: 128 per octave.
_KEPT_MANTISSA_BITS = 7
_BIN_SHIFT = np.uint64(52 - _KEPT_MANTISSA_BITS)
_BINS = 1 << (11 + _KEPT_MANTISSA_BITS)


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


def error_quantiles(actual: NDArray[Any], expected: NDArray[Any]) -> ErrorQuantiles:
    """Quantiles of ``|actual - expected|`` over the elements where both are finite; all zero when there are none.

    Both arrays have the same shape and hold fp64 values. A quantile q of n errors is the error of rank ceil(q n), no
    interpolation. Below 2^24 elements it is exact. Above, errors are counted in bins of 1/128 octave and a quantile is
    the upper edge of its bin: at most 0.8 % too large. The maximum is always exact. Memory beyond the arguments is one
    chunk of 2^22 elements above that size.

    Raises:
        ValueError: the shapes differ.
    """
    _same_shape(actual, expected)
    if actual.size < _EXACT_BELOW:
        return _exact_quantiles(_finite_errors(actual, expected))
    return _counted_quantiles(actual, expected)


def _finite_errors(actual: NDArray[Any], expected: NDArray[Any]) -> Values:
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(np.subtract(actual, expected, dtype=np.float64)).ravel()
    return errors[np.isfinite(errors)]


def _exact_quantiles(errors: Values) -> ErrorQuantiles:
    if errors.size == 0:
        return NO_ERROR
    ranks = [math.ceil(q * errors.size) - 1 for q in QUANTILES]
    ordered = np.partition(errors, [*ranks, errors.size - 1])
    p50, p99, p999 = (float(ordered[rank]) for rank in ranks)
    return ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=float(ordered[-1]))


def _counted_quantiles(actual: NDArray[Any], expected: NDArray[Any]) -> ErrorQuantiles:
    counts = np.zeros(_BINS, dtype=np.int64)
    largest = 0.0
    for got, want in zip(_chunks(actual), _chunks(expected), strict=True):
        errors = _finite_errors(got, want)
        if errors.size:
            largest = max(largest, float(errors.max()))
            bins = (errors.view(np.uint64) >> _BIN_SHIFT).astype(np.int64)
            counts += np.bincount(bins, minlength=_BINS)
    total = int(counts.sum())
    if total == 0:
        return NO_ERROR
    reached = np.cumsum(counts)
    bins = (int(np.searchsorted(reached, math.ceil(q * total))) for q in QUANTILES)
    p50, p99, p999 = (min(_upper_edge(one), largest) for one in bins)
    return ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=largest)


def _chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    flat = array.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        yield flat[start : start + _CHUNK]


def _upper_edge(one: int) -> float:
    if one == 0:
        return 0.0
    return float(np.array([one + 1], dtype=np.uint64).__lshift__(_BIN_SHIFT).view(np.float64)[0])


def smallest_error(expected: NDArray[Any], dtype: DType) -> float:
    """The error below which nothing is held against anybody: half an ulp of storage at the size of a typical row.

    A row is the last axis; its size the root mean square of its finite values; typical the median over rows. Rounding
    the exact answer once to storage errs by that much, so a bound below it could reject the best answer there is when
    the baseline happens to be exact; it is tied to rows and not to single elements, because a relative bound cannot be
    met near zero; and to the median row and not to the largest, so that a few outliers license nothing elsewhere. It
    never falls below the smallest normal number: denormals may be flushed to zero.
    """
    kind = FORMATS[dtype]
    rows = np.atleast_1d(expected)
    if rows.size == 0:
        return kind.smallest_normal
    rows = rows.reshape(-1, rows.shape[-1])
    usable = np.isfinite(rows)
    magnitude = np.where(usable, np.abs(rows), 0.0)
    top = float(magnitude.max())
    if top == 0.0:
        return kind.smallest_normal
    # Scaled by the largest value first, so that squares neither overflow nor vanish.
    squares = np.square(magnitude / top).sum(axis=1)
    size = np.sqrt(squares / np.maximum(usable.sum(axis=1), 1))
    return max(kind.unit_roundoff * top * float(np.median(size)), kind.smallest_normal)


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


def leaf_errors(
    path: str,
    dtype: DType,
    *,
    candidate: NDArray[Any],
    baseline: NDArray[Any],
    honest: Sequence[NDArray[Any]] | None,
    expected: NDArray[Any],
) -> LeafErrors:
    """Everything that a check needs to know about one output or state tensor in one case.

    Args:
        path: how a person would write the output.
        dtype: the storage type the reference has; decides the floor and whether equality is asked for.
        candidate, baseline: values that the two sides produced: fp64 for floating types (bfloat16 already widened;
            complex with a trailing axis of two), else the integers or booleans themselves.
        honest: samples of the honest-rounding model, same form; ``HONEST_SAMPLES`` of them are enough. None: it was
            not asked.
        expected: the fp64 reference, same form.

    Raises:
        ValueError: the shapes differ.
    """
    for other in (candidate, baseline, *(honest or ())):
        _same_shape(other, expected)
    if not dtype.is_floating:
        return _exact_leaf(path, candidate, baseline, honest, expected)
    classes = _classes(expected, FORMATS[dtype].overflow)
    wrong = _classes(candidate) != classes
    # Zeros that both sides hit exactly (behind a ReLU, say) say nothing of precision; counted in, they would put the
    # median at their edge, where the ratio of two errors is chance.
    telling = (expected != 0) | (candidate != 0) | (baseline != 0)
    want = expected[telling]

    def quantiles(side: NDArray[Any]) -> ErrorQuantiles:
        return error_quantiles(side[telling], want)

    return LeafErrors(
        path=path,
        elements=expected.size,
        floor=smallest_error(expected, dtype),
        candidate=quantiles(candidate),
        baseline=quantiles(baseline),
        honest=None if honest is None else envelope([quantiles(sample) for sample in honest], want.size),
        mask_mismatches=int(np.count_nonzero(wrong)),
        baseline_mask_mismatches=int(np.count_nonzero(_classes(baseline) != classes)),
        worst=_worst(candidate, expected, wrong),
    )


def _exact_leaf(
    path: str,
    candidate: NDArray[Any],
    baseline: NDArray[Any],
    honest: Sequence[NDArray[Any]] | None,
    expected: NDArray[Any],
) -> LeafErrors:
    wrong = candidate != expected
    return LeafErrors(
        path=path,
        elements=expected.size,
        floor=0.0,
        candidate=NO_ERROR,
        baseline=NO_ERROR,
        honest=None if honest is None else NO_ERROR,
        exact_mismatches=int(np.count_nonzero(wrong)),
        baseline_exact_mismatches=int(np.count_nonzero(baseline != expected)),
        honest_exact_mismatches=max((int(np.count_nonzero(one != expected)) for one in honest or ()), default=0),
        worst=_spot(int(np.argmax(wrong)), candidate, expected) if np.any(wrong) else "",
    )


def _classes(values: NDArray[Any], overflow: float = math.inf) -> NDArray[np.int8]:
    """0 finite, 1 NaN, 2 +Inf, 3 -Inf; magnitudes from ``overflow`` on count as infinite, as in storage."""
    one, two, three = np.int8(1), np.int8(2), np.int8(3)
    kinds = one * np.isnan(values) + two * (values >= overflow) + three * (values <= -overflow)
    return np.asarray(kinds, dtype=np.int8)


def _worst(candidate: NDArray[Any], expected: NDArray[Any], wrong: NDArray[np.bool_]) -> str:
    if candidate.size == 0:
        return ""
    if np.any(wrong):
        return _spot(int(np.argmax(wrong)), candidate, expected)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(np.subtract(candidate, expected, dtype=np.float64))
    return _spot(int(np.argmax(np.where(np.isfinite(errors), errors, 0.0))), candidate, expected)


def _spot(flat: int, candidate: NDArray[Any], expected: NDArray[Any]) -> str:
    index = ", ".join(str(int(part)) for part in np.unravel_index(flat, expected.shape))
    got, want = candidate.reshape(-1)[flat], expected.reshape(-1)[flat]
    if candidate.dtype.kind == "f":
        return f"[{index}]: got {float(got):.9g}, expected {float(want):.9g}"
    return f"[{index}]: got {got}, expected {want}"


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


def _same_shape(one: NDArray[Any], other: NDArray[Any]) -> None:
    if one.shape != other.shape:
        raise ValueError(f"arrays of shapes {one.shape} and {other.shape} cannot be compared element by element")
