"""Average pooling as what it is: a convolution with equal weights, which separates into one short sum per dimension."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule

from strop.kernels import native as toolchain
from strop.kernels import windows
from strop.records.opportunity import Legality, ParameterRange
from strop.records.recipe import Scalar
from strop.records.target import Target
from strop.transforms._base import Example, Rewrite
from strop.transforms._estimate import call_ns, elements, memory_ns, product_ns, scalar_ns, size_bytes, vector_ns
from strop.transforms._everywhere import PlacedTransform
from strop.transforms._graph import Builder, at, calls, float_of, replace, step, tensor
from strop.transforms._pooling import FORMS, POOLS, Pool, read_pool

_LARGEST_WRITTEN_OUT = 25
_MOST_TAPS = 128
"""Beyond this many slices per dimension the shifted form makes graphs that take longer to compile than they can win."""


_MASKED = 4
"""How much longer shifted sums take when their slices are of a padded input, which is read through masks."""


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    return torch.nn.AvgPool2d(7, stride=1, padding=3), (torch.randn(2, 8, 32, 32),)


class AvgPoolAsConv(PlacedTransform):
    """See the class variables."""

    name: ClassVar[str] = "avg_pool_as_conv"
    summary: ClassVar[str] = (
        "average pooling as a separable convolution: shifted sums, a depthwise convolution or a native kernel"
    )
    legality: ClassVar[tuple[Legality, ...]] = (Legality.REASSOCIATED,)
    applies_when: ClassVar[str] = (
        "avg_pool1d, 2d or 3d over floating-point numbers, any window, stride, padding, ceil mode, count_include_pad "
        "and divisor_override; the sizes of space are known"
    )
    valid_because: ClassVar[str] = (
        "A mean over a k1 x k2 window is the convolution with the constant kernel 1/(k1 k2), which is the outer "
        "product of two one-dimensional kernels, so the sums along one dimension after the other give the same number"
        " (separable filters: Gonzalez and Woods, Digital Image Processing, section 3.4). Zeros beyond the border add"
        " nothing; the divisor follows from the window's place alone and is a product over the dimensions, as "
        "torch.nn.AvgPool2d documents."
    )
    pays_when: ClassVar[str] = (
        "windows overlap, or have borders: the compiler then reads k1 x k2 elements a result, one at a time; "
        "separated, it is k1 + k2 vectorised additions. Non-overlapping windows without padding gain little."
    )
    parameters: ClassVar[tuple[ParameterRange, ...]] = (
        ParameterRange(name="form", choices=("native", "shifted", "conv")),
    )
    example: ClassVar[Example] = Example(
        build=_example, says="A 7 x 7 moving average: 49 masked reads a result become 14 vectorised additions."
    )

    def places(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """One rewrite per pool; without a ``form`` the one with the best estimate."""
        for node in calls(graph, *POOLS):
            pool = read_pool(node) if at(node, arguments) else None
            if pool is None or not any(user for user in node.users):
                continue
            forms = _forms(pool, target)
            wanted = str(arguments.get("form", max(forms, key=lambda form: forms[form])))
            if wanted in forms:
                yield Rewrite(
                    step=step(self.name, node, form=wanted),
                    nodes=(node.name,),
                    gain_ns=forms[wanted],
                    apply=partial(_apply, graph, pool, FORMS[wanted]),
                )

    def why_not(self, graph: GraphModule, target: Target) -> str:
        """What is missing."""
        pools = list(calls(graph, *POOLS))
        if not pools:
            return "The graph has no average pooling (global means are reductions, not windows)."
        return f"{pools[0].name} pools integers or a space of symbolic size; only known sizes of floats are rewritten."


def _apply(graph: GraphModule, pool: Pool, form: Callable[[Pool, Builder], torch.fx.Node]) -> None:
    replace(pool.node, form(pool, Builder(graph.graph, pool.node)))


def _forms(pool: Pool, target: Target) -> dict[str, float]:
    """The forms that this pool can take here, each with its estimated gain in ns."""
    before, after = tensor(pool.source), tensor(pool.node)
    assert before is not None  # noqa: S101 - read_pool saw both
    assert after is not None  # noqa: S101
    moved_ns = memory_ns(size_bytes(before) + size_bytes(after), target)
    results = elements(after)
    compiler_ns = max(moved_ns, _compiler_ns(pool, results, target))
    taps_ns = vector_ns(float(results * sum(pool.kernel)), target)
    gains = {}
    if max(pool.kernel) <= _MOST_TAPS:
        gains["shifted"] = compiler_ns - max(moved_ns, _shifted_ns(pool, results, target))
    if type(after.shape[-pool.axes - 1]) is int:
        flops = 2.0 * results * math.prod(pool.kernel)
        reordered_ns = memory_ns(2 * (size_bytes(before) + size_bytes(after)), target)
        work_ns = product_ns(4 * flops, after.dtype, target)
        gains["conv"] = compiler_ns - max(moved_ns, work_ns) - reordered_ns - call_ns(1, target)
    if _has_native(pool, target):
        # Its input and result go through memory, which the compiler would have fused with their neighbours.
        gains["native"] = compiler_ns - max(moved_ns, taps_ns) - moved_ns - call_ns(1, target)
    return gains


def _compiler_ns(pool: Pool, results: int, target: Target) -> float:
    """What the compiler's code takes: element by element with padding, or past the window size at which it gives up.

    Inductor hands windows of more than 25 elements (``_inductor.lowering``) to the eager kernel, which is not
    vectorised for contiguous tensors; smaller ones it writes out, with a mask per element where there is padding.
    """
    taps = math.prod(pool.kernel)
    vectorised = not _masked(pool) and pool.stride[-1] == 1 and taps <= _LARGEST_WRITTEN_OUT
    operations = float(results * taps)
    return vector_ns(2 * operations, target) if vectorised else scalar_ns(operations, target)


def _shifted_ns(pool: Pool, results: int, target: Target) -> float:
    """Slices with gaps are read one element at a time; slices of a padded input through masks."""
    operations = float(results * sum(pool.kernel))
    if pool.stride[-1] > 1:
        return scalar_ns(operations, target)
    return vector_ns(operations, target) * (_MASKED if _masked(pool) else 1)


def _masked(pool: Pool) -> bool:
    """Whether some window reaches beyond the input."""
    return any(pool.padding) or any(right > 0 for right in pool.right)


def _has_native(pool: Pool, target: Target) -> bool:
    value = tensor(pool.node)
    device = value is not None and value.device.type == "cpu"
    return (
        device
        and "cpp" in target.languages
        and float_of(pool.node) in windows.DTYPES
        and toolchain.compiler() is not None
    )


ITEM = AvgPoolAsConv()
