"""From results to figures: how far tensors of any size, in any memory, lie from their fp64 reference.

Everything is done piece by piece, so that beside the tensors themselves a few pieces of memory are enough, and where
the tensors lie: on the host or on a device.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from strop.records.evidence import ErrorQuantiles, LeafErrors
from strop.records.tensor import DType
from strop.stats.errors import FORMATS, NO_ERROR, QUANTILES, envelope

_EXACT_BELOW = 1 << 20
_PIECE_ON_HOST = 1 << 20
_PIECE_ON_DEVICE = 1 << 26
# Bins of the histogram are the 11 exponent bits and the first 7 bits of the mantissa: 128 per octave.
_KEPT_MANTISSA_BITS = 7
_BIN_SHIFT = 52 - _KEPT_MANTISSA_BITS
_BINS = 1 << (11 + _KEPT_MANTISSA_BITS)


def error_quantiles(actual: torch.Tensor, expected: torch.Tensor) -> ErrorQuantiles:
    """Quantiles of ``|actual - expected|`` over the elements where both are finite; all zero when there are none.

    Both tensors have the same shape; the difference is taken in fp64. A quantile q of n errors is the error of rank
    ceil(q n), no interpolation. Below 2^20 elements it is exact. Above, errors are counted in bins of 1/128 octave and
    a quantile is the upper edge of its bin: at most 0.8 % too large. The maximum is always exact.

    Raises:
        ValueError: the shapes differ.
    """
    tally = Tally(actual.numel())
    for _, (got, want) in pieces(actual, expected):
        tally.add(_finite(_apart(got, want)))
    return tally.quantiles()


def pieces(*tensors: torch.Tensor) -> Iterator[tuple[int, list[torch.Tensor]]]:
    """Equal parts of several tensors of one shape, flattened, with the position of the first element.

    Raises:
        ValueError: the shapes differ.
    """
    for other in tensors[1:]:
        if other.shape != tensors[0].shape:
            shapes = f"{tuple(tensors[0].shape)} and {tuple(other.shape)}"
            raise ValueError(f"tensors of shapes {shapes} cannot be compared element by element")
    flat = [tensor.reshape(-1) for tensor in tensors]
    step = _PIECE_ON_HOST if tensors[0].device.type == "cpu" else _PIECE_ON_DEVICE
    for start in range(0, flat[0].numel(), step):
        yield start, [each[start : start + step] for each in flat]


def _apart(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (one.double() - other.double()).abs_()


def _finite(errors: torch.Tensor) -> torch.Tensor:
    return errors if _all_finite(errors) else errors[torch.isfinite(errors)]


def _all_finite(errors: torch.Tensor) -> bool:
    """Whether no error is NaN or infinite, in one pass; a sum that overflows only costs a closer look."""
    return math.isfinite(float(errors.sum()))


@dataclass(slots=True)
class Tally:
    """Quantiles of non-negative fp64 errors that come in pieces; of ``expected`` elements at most."""

    expected: int
    largest: float = 0.0
    total: int = 0
    _kept: list[torch.Tensor] = field(default_factory=list[torch.Tensor])
    _counts: torch.Tensor | None = None

    def add(self, errors: torch.Tensor) -> None:
        """Count one piece, one dimension."""
        if not errors.numel():
            return
        self.total += errors.numel()
        if self.expected < _EXACT_BELOW:
            self._kept.append(errors)
            return
        self.largest = max(self.largest, float(errors.max()))
        counts = torch.bincount(errors.view(torch.int64) >> _BIN_SHIFT, minlength=_BINS)
        self._counts = counts if self._counts is None else self._counts + counts

    def quantiles(self) -> ErrorQuantiles:
        """Of everything that was counted."""
        if not self.total:
            return NO_ERROR
        ranks = [math.ceil(q * self.total) for q in QUANTILES]
        if self._counts is None:
            p50, p99, p999, largest = _of_ranks(torch.cat(self._kept), (*ranks, self.total))
            return ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=largest)
        reached = self._counts.cumsum(0)
        bins = torch.searchsorted(reached, torch.tensor(ranks, device=reached.device))
        p50, p99, p999 = (min(_upper_edge(int(one)), self.largest) for one in bins)
        return ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=self.largest)


def _of_ranks(values: torch.Tensor, ranks: Sequence[int]) -> list[float]:
    """The values that sorting would put at these ranks, which count from one."""
    places = [rank - 1 for rank in ranks]
    if values.device.type == "cpu":
        # Partitioning is several times as fast as sorting, and torch has none.
        ordered = np.partition(values.numpy(), places)
        return [float(ordered[place]) for place in places]
    in_order = torch.sort(values).values
    return [float(in_order[place]) for place in places]


def _upper_edge(one: int) -> float:
    return float(torch.tensor((one + 1) << _BIN_SHIFT).view(torch.float64)) if one else 0.0


def smallest_error(expected: torch.Tensor, dtype: DType) -> float:
    """The error below which nothing is held against anybody: half an ulp of storage at the size of a typical row.

    A row is the last axis; its size the root mean square of its finite values; typical the median over rows. Rounding
    the exact answer once to storage errs by that much, so a bound below it could reject the best answer there is when
    the baseline happens to be exact; it is tied to rows and not to single elements, because a relative bound cannot be
    met near zero; and to the median row and not to the largest, so that a few outliers license nothing elsewhere. It
    never falls below the smallest normal number: denormals may be flushed to zero.
    """
    kind = FORMATS[dtype]
    if not expected.numel():
        return kind.smallest_normal
    rows = expected.reshape(-1, expected.shape[-1]) if expected.dim() else expected.reshape(1, 1)
    top = max(float(_magnitudes(part).max()) for part in _row_parts(rows))
    if top == 0.0:
        return kind.smallest_normal
    size = torch.cat([_row_sizes(part, top) for part in _row_parts(rows)])
    return max(kind.unit_roundoff * top * _median(size), kind.smallest_normal)


def _row_parts(rows: torch.Tensor) -> Sequence[torch.Tensor]:
    piece = _PIECE_ON_HOST if rows.device.type == "cpu" else _PIECE_ON_DEVICE
    step = max(1, piece // rows.shape[1])
    return [rows[start : start + step] for start in range(0, rows.shape[0], step)]


def _magnitudes(rows: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.isfinite(rows), rows, 0.0).abs_()


def _row_sizes(rows: torch.Tensor, top: float) -> torch.Tensor:
    # Scaled by the largest value first, so that squares neither overflow nor vanish.
    squares = (_magnitudes(rows).double() / top).square_().sum(1)
    return (squares / torch.isfinite(rows).sum(1).clamp_min(1)).sqrt_()


def _median(values: torch.Tensor) -> float:
    ordered = torch.sort(values).values
    return (float(ordered[(ordered.numel() - 1) // 2]) + float(ordered[ordered.numel() // 2])) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HonestErrors:
    """One sample of honest rounding beside the fp64 reference; ``elements`` of it were counted."""

    quantiles: ErrorQuantiles
    elements: int
    exact_mismatches: int = 0


def leaf_errors(
    path: str,
    dtype: DType,
    *,
    candidate: torch.Tensor,
    baseline: torch.Tensor,
    expected: torch.Tensor,
    honest: Iterable[torch.Tensor] | None = None,
) -> LeafErrors:
    """Everything that a check needs to know about one output or state tensor in one case.

    Args:
        path: how a person would write the output.
        dtype: the storage type the reference has; decides the floor and whether equality is asked for.
        candidate, baseline: what the two sides produced, in their own types; no complex numbers (see ``real``).
        expected: the fp64 reference, or the integers and booleans themselves.
        honest: samples of the honest-rounding model; ``HONEST_SAMPLES`` of them are enough. None: it was not asked.

    Raises:
        ValueError: the shapes differ.
    """
    if not dtype.is_floating:
        leaf = _exact_leaf(path, candidate, baseline, expected)
    else:
        leaf = _floating_leaf(path, dtype, candidate, baseline, expected)
    if honest is None:
        return leaf
    samples = [
        honest_errors(dtype, sample=each, candidate=candidate, baseline=baseline, expected=expected) for each in honest
    ]
    return beside(leaf, samples)


def beside(leaf: LeafErrors, samples: Sequence[HonestErrors]) -> LeafErrors:
    """The same with what honest rounding explains."""
    elements = max((each.elements for each in samples), default=0)
    return replace(
        leaf,
        honest=envelope([each.quantiles for each in samples], elements),
        honest_exact_mismatches=max((each.exact_mismatches for each in samples), default=0),
    )


def honest_errors(
    dtype: DType, *, sample: torch.Tensor, candidate: torch.Tensor, baseline: torch.Tensor, expected: torch.Tensor
) -> HonestErrors:
    """How far one sample of honest rounding strays, over the elements that count for the two sides."""
    if not dtype.is_floating:
        return HonestErrors(
            quantiles=NO_ERROR, elements=expected.numel(), exact_mismatches=_differing(sample, expected)
        )
    tally, counted = Tally(expected.numel()), 0
    for _, (one, got, theirs, want) in pieces(sample, candidate, baseline, expected):
        telling = _telling(got, theirs, want)
        errors = _apart(one, want)
        errors = errors if telling is None else errors[telling]
        counted += errors.numel()
        tally.add(_finite(errors))
    return HonestErrors(quantiles=tally.quantiles(), elements=counted)


def _telling(candidate: torch.Tensor, baseline: torch.Tensor, expected: torch.Tensor) -> torch.Tensor | None:
    """The elements that count; None for all of them.

    Zeros that both sides hit exactly (behind a ReLU, say) say nothing of precision; counted in, they would put the
    median at their edge, where the ratio of two errors is chance.
    """
    if int(torch.count_nonzero(expected)) == expected.numel():
        return None
    return (expected != 0) | (candidate != 0) | (baseline != 0)


def _floating_leaf(
    path: str, dtype: DType, candidate: torch.Tensor, baseline: torch.Tensor, expected: torch.Tensor
) -> LeafErrors:
    mine, theirs = _Side(expected, dtype), _Side(expected, dtype)
    worst = _Worst()
    for start, (got, other, want) in pieces(candidate, baseline, expected):
        telling = _telling(got, other, want)
        wrong, errors = mine.look(got, want, telling)
        worst.look(start, wrong, errors)
        theirs.look(other, want, telling)
    return LeafErrors(
        path=path,
        elements=expected.numel(),
        floor=smallest_error(expected, dtype),
        candidate=mine.tally.quantiles(),
        baseline=theirs.tally.quantiles(),
        honest=None,
        mask_mismatches=mine.mismatches,
        baseline_mask_mismatches=theirs.mismatches,
        worst=_spot(worst.position, candidate, expected),
    )


class _Side:
    """One side's errors so far."""

    def __init__(self, expected: torch.Tensor, dtype: DType) -> None:
        self.tally = Tally(expected.numel())
        self.mismatches = 0
        self._overflow = FORMATS[dtype].overflow

    def look(
        self, got: torch.Tensor, want: torch.Tensor, telling: torch.Tensor | None
    ) -> tuple[torch.Tensor | None, torch.Tensor]:
        """See one piece; which of its elements are finite where they should not be or the other way round (None: none
        is), and all errors.
        """
        errors, wrong = _apart(got, want), None
        # What is finite on both sides needs no closer look, unless storage would have made it infinite.
        if not _all_finite(errors) or float(want.abs().max()) >= self._overflow:
            wrong = _classes(got.double()) != _classes(want, self._overflow)
            count = int(torch.count_nonzero(wrong))
            self.mismatches += count
            wrong = wrong if count else None
        self.tally.add(_finite(errors if telling is None else errors[telling]))
        return wrong, errors


@dataclass(slots=True)
class _Worst:
    """Where the first wrong class is, else where the largest finite error is."""

    position: int | None = None
    error: float = -1.0
    is_wrong: bool = False

    def look(self, start: int, wrong: torch.Tensor | None, errors: torch.Tensor) -> None:
        """See one piece, whose first element lies at ``start``."""
        if self.is_wrong:
            return
        if wrong is not None:
            self.position, self.is_wrong = start + int(wrong.nonzero()[0]), True
            return
        finite = errors if _all_finite(errors) else torch.where(torch.isfinite(errors), errors, 0.0)
        here = int(finite.argmax())
        if float(finite[here]) > self.error:
            self.position, self.error = start + here, float(finite[here])


def _exact_leaf(path: str, candidate: torch.Tensor, baseline: torch.Tensor, expected: torch.Tensor) -> LeafErrors:
    worst = next(
        (start + int(wrong.nonzero()[0]) for start, wrong in _wrong(candidate, expected) if bool(wrong.any())), None
    )
    return LeafErrors(
        path=path,
        elements=expected.numel(),
        floor=0.0,
        candidate=NO_ERROR,
        baseline=NO_ERROR,
        honest=None,
        exact_mismatches=_differing(candidate, expected),
        baseline_exact_mismatches=_differing(baseline, expected),
        worst=_spot(worst, candidate, expected),
    )


def _differing(one: torch.Tensor, expected: torch.Tensor) -> int:
    return sum(int(torch.count_nonzero(wrong)) for _, wrong in _wrong(one, expected))


def _wrong(one: torch.Tensor, expected: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
    for start, (got, want) in pieces(_plain(one), _plain(expected)):
        yield start, got != want


def _plain(values: torch.Tensor) -> torch.Tensor:
    """Booleans as their bytes: poison is neither true nor false."""
    return values.view(torch.uint8) if values.dtype is torch.bool else values


def _classes(values: torch.Tensor, overflow: float = math.inf) -> torch.Tensor:
    """0 finite, 1 NaN, 2 +Inf, 3 -Inf; magnitudes from ``overflow`` on count as infinite, as in storage."""
    kinds = torch.isnan(values).to(torch.int8)
    return kinds + 2 * (values >= overflow).to(torch.int8) + 3 * (values <= -overflow).to(torch.int8)


def _spot(position: int | None, candidate: torch.Tensor, expected: torch.Tensor) -> str:
    """An element as a person would write it; empty where there is nothing to show."""
    if position is None:
        return ""
    index = ", ".join(map(str, _unravelled(position, expected.shape)))
    got, want = (side.reshape(-1)[position].item() for side in (candidate, expected))
    if candidate.is_floating_point():
        return f"[{index}]: got {got:.9g}, expected {want:.9g}"
    return f"[{index}]: got {got}, expected {want}"


def _unravelled(position: int, shape: Sequence[int]) -> list[int]:
    """Where the element with this number stands. torch.unravel_index imports sympy, which takes a second."""
    index: list[int] = []
    for size in reversed(shape):
        position, place = divmod(position, size)
        index.insert(0, place)
    return index
