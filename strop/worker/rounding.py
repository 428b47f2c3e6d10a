"""Perturb: Monte-Carlo arithmetic. How far may any honest implementation stray from the exact result?

The workload runs in double precision, and every operator's result is moved by one rounding of the contract's
precision for its class: ``u + a sqrt(K) / 2`` times the size of the result times a random number of either sign
between a half and one, where K is the length of the sum that the result comes from, and a the unit roundoff in which
sums are accumulated: single precision where u is coarser, because matrix units and reductions keep what is narrower
only between operators (the errors of K rounded operands average out and leave one u). What counts as the size is said
at :func:`_beside`. Convolutions with a window get three times that, because Winograd's algorithm, which libraries
choose by themselves, strays so far (B. Barabasz et al., ACM TOMS 46, 2020); other products that narrow their operands
get twice that. Views, copies, gathers, selections and comparisons are exact. Composite operators (norms, softmax,
attention) are taken apart first, so that cancellation inside them shows. The method is D. S. Parker's Monte-Carlo
arithmetic (UCLA CSD-970002, 1997); that rounding errors of a sum grow with sqrt(K) is N. J. Higham and T. Mary's
probabilistic analysis (SIAM J. Sci. Comput. 41, 2019).

Operators that draw random numbers are left alone: their results are never judged by value.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from strop.records.contract import Contract, Precision
from strop.worker.gold import Widening
from strop.worker.operators import OpClass, classify, decomposition, is_windowed, name_of, reduction_length
from strop.worker.spy import arguments, draws_random_numbers

Beside = Callable[[torch.Tensor], Sequence[torch.Tensor]]
"""For a result: what counts beside its own size, where that is larger, broadcasting to the result."""

_GROWTH = 0.5
_LEAST_ERROR = 0.5
_WINOGRAD = 3.0
PART_ON_HOST = 1 << 17
"""Elements that are worked on together: a megabyte of double precision stays in a cache."""
PART_ON_DEVICE = 1 << 24
_ACCUMULATED = 2.0**-24
_OPERANDS = 2.0
"""For operands that the contract narrows: both are rounded before the product and its result once more after it, and
TF32 units may even drop the bits that they cannot hold.
"""

# Multipliers of SplitMix64 as signed numbers; products wrap around.
_MIXING = ((30, 0xBF58476D1CE4E5B9 - 2**64), (27, 0x94D049BB133111EB - 2**64))


class Rounding(Widening):
    """A dispatch mode that moves every inexact result.

    Args:
        contract: which precision each class of operators may use.
        own: the floating type in which the workload computes; its own roundoff counts where it is the larger one.
        seed: of the errors.
    """

    def __init__(self, contract: Contract, own: torch.dtype, seed: int) -> None:
        super().__init__(own)
        self._random = random.Random(seed)
        self._unit = {
            OpClass.MATMUL: _unit(contract.matmul, own),
            OpClass.CONV: _unit(contract.conv, own),
            OpClass.RNN: _unit(contract.rnn, own),
            OpClass.OTHER: _unit(contract.storage, own),
        }
        classes = ((OpClass.MATMUL, contract.matmul), (OpClass.CONV, contract.conv), (OpClass.RNN, contract.rnn))
        least = torch.finfo(own).eps / 2
        self._narrowed = frozenset(kind for kind, precision in classes if precision.unit_roundoff > least)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Do the operator in double precision and move its results."""
        if not isinstance(func, OpOverload):
            return func(*args, **(kwargs or {}))
        wide, named = self.widened(func, args, kwargs or {})
        kind = classify(func)
        if kind is OpClass.EXACT or draws_random_numbers(func, wide, named):
            return func(*wide, **named)
        simpler = decomposition(func)
        if simpler is not None:
            with self:
                return simpler(*wide, **named)
        result = func(*wide, **named)
        length = reduction_length(func, wide, named, result)
        factor = _OPERANDS if kind in self._narrowed else 1.0
        if kind is OpClass.CONV and is_windowed(wide):
            factor = max(factor, _WINOGRAD)
        unit = self._unit[kind]
        relative = factor * (unit + _GROWTH * math.sqrt(length) * min(unit, _ACCUMULATED))
        self._move(func, wide, named, result, relative, length)
        return result

    def _move(
        self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any, relative: float, length: int
    ) -> None:
        """Move what is new: fresh results, and arguments that the operator wrote to."""
        written = [
            value
            for argument, value in arguments(func, args, kwargs)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        fresh = [
            value
            for declared, value in zip(func._schema.returns, _listed(func, result), strict=False)
            if declared.alias_info is None
        ]
        beside = _beside(func, args, length)
        for tensor in pytree.tree_leaves([written, fresh]):
            if isinstance(tensor, torch.Tensor) and tensor.dtype in (torch.float64, torch.complex128):
                self.move(tensor, relative, beside)

    def move(self, tensor: torch.Tensor, relative: float, beside: Beside = lambda values: ()) -> None:
        """Move a tensor in place by ``relative`` times its size or what counts beside it; zeros, infinities and NaN
        stay as they are.
        """
        values = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        if not values.numel():
            return
        salt, others = self._random.getrandbits(62), beside(values)
        for part, *sizes in _parts(values, *others):
            finite = _finite(part)
            size = finite.abs()
            for other in sizes:
                size = torch.maximum(size, _finite(other).abs())
            noise = _drawn_from(finite, salt).mul_(0.5)
            # From (-1, -1/2) or (1/2, 1): where few elements decide a quantile, a lucky draw must not tighten the
            # bound.
            noise.add_(noise.sign().mul_(_LEAST_ERROR)).mul_(size).mul_(relative)
            part.add_(torch.where((finite == 0) | ~torch.isfinite(noise), 0.0, noise))


def _finite(values: torch.Tensor) -> torch.Tensor:
    """The same tensor where nothing has to be replaced: results may fill half the memory."""
    # The ends tell it, and take no memory to find.
    if all(math.isfinite(end) for end in values.aminmax()):
        return values
    return torch.where(torch.isfinite(values), values, 0.0)


def _parts(values: torch.Tensor, *others: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """Views of about equal parts of all: what is computed from a part takes many times its size, and on the host it
    stays in the cache.
    """
    count = max(1, values.numel() // (PART_ON_HOST if values.device.type == "cpu" else PART_ON_DEVICE))
    spread = [values, *(other.broadcast_to(values.shape) for other in others)]
    if count == 1:
        return iter([tuple(spread)])
    # The outermost axis that is long enough, so that a part lies together.
    axis = max(range(values.dim()), key=lambda each: (min(values.size(each), count), values.stride(each)))
    return zip(*(each.chunk(count, axis) for each in spread), strict=True)


def _drawn_from(values: torch.Tensor, salt: int) -> torch.Tensor:
    """Numbers from (-1, 1), a function of the values' bits: equal numbers are rounded equally, wherever they stand.

    Independent errors of equal numbers would average out in sums over them, which real ones do not. The hash is the
    finaliser of G. Steele, D. Lea and C. Flood's SplitMix (OOPSLA 2014).
    """
    bits = values.contiguous().view(torch.int64) ^ salt
    for shift, factor in _MIXING:
        # The shift of signed numbers drags the sign along; the mask takes it off again.
        bits = (bits ^ ((bits >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return (bits >> 11).double().mul_(2.0**-52)


def _listed(func: Any, result: Any) -> Sequence[Any]:
    return result if len(func._schema.returns) > 1 else (result,)


def _unit(precision: Precision, own: torch.dtype) -> float:
    own_unit = torch.finfo(own).eps / 2
    if own is torch.float64:
        return own_unit
    return max(precision.unit_roundoff, own_unit)


def _beside(func: Any, args: Sequence[Any], length: int) -> Beside:
    """Relative to what a result is rounded, if that is larger than its own size.

    Sums and products of matrices: the RMS of the row, because terms may have cancelled. Additions of two tensors: the
    operands, because an honest implementation may add in another order. Everything else that works element by element,
    and products of many numbers: nothing.
    """
    name = name_of(func)
    if name in _ADDITIONS:
        # An in-place operator may have been given something that broadcasts to its result, never the other way round.
        operands = [each for each in args[:2] if isinstance(each, torch.Tensor)]
        if any(isinstance(each, complex) for each in args[:2]) or any(each.is_complex() for each in operands):
            return lambda values: ()
        # They may be booleans, or single numbers on the host beside a result on a device.
        return lambda values: [each.to(values) for each in operands]
    if torch.Tag.pointwise in func.tags or name in _MULTIPLICATIVE:
        return lambda values: ()
    least = _least_size(name, args, length)
    wide = classify(func) is not OpClass.MATMUL
    return lambda values: [*_row_sizes(_finite(values), wide=wide), *([values.new_tensor(least)] if least > 0 else [])]


def _row_sizes(values: torch.Tensor, *, wide: bool) -> Sequence[torch.Tensor]:
    """The RMS of the rows; nothing where no two signs meet, because there nothing has cancelled.

    A row is what shares the left factor of a matrix product; with ``wide`` it is a whole sample, because neighbours
    in an image can all cancel alike.
    """
    low, high = values.aminmax()
    if low >= 0 or high <= 0:
        return ()
    axes = tuple(range(1, values.dim())) if wide else (-1,)
    whole = values.dim() == 0 or math.prod(values.shape[axis] for axis in axes) == 1
    axes = tuple(range(values.dim())) if whole else axes
    return (_rms(values, axes),)


def _rms(values: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """Over these axes, which stay with a length of one; infinite where squares are too large."""
    count = math.prod(values.shape[axis] for axis in axes)
    return torch.linalg.vector_norm(values, dim=axes, keepdim=True) / math.sqrt(count)


_ADDITIONS = ("add", "sub", "rsub")
_MULTIPLICATIVE = ("prod", "cumprod")
_SUMS = ("sum", "mean", "dot", "vdot", "mv", "cumsum")


def _least_size(name: str, args: Sequence[Any], length: int) -> float:
    """For sums that leave few numbers, the size that cancellation may have hidden: RMS of the terms times sqrt(K)."""
    if name not in _SUMS or length < 2:
        return 0.0
    terms = [each for each in args[:2] if isinstance(each, torch.Tensor) and each.is_floating_point() and each.numel()]
    if not terms or all(bool((each >= 0).all()) for each in terms):
        return 0.0
    typical = [float(_rms(_finite(each), tuple(range(each.dim())))) for each in terms]
    size = math.prod(each if math.isfinite(each) else 0.0 for each in typical) * math.sqrt(length)
    return size / length if name == "mean" else size


def storage_unit(dtype: torch.dtype) -> float:
    """Unit roundoff of the type in which a result is stored."""
    real = torch.float32 if dtype is torch.complex64 else torch.float64 if dtype is torch.complex128 else dtype
    return torch.finfo(real).eps / 2
