"""What an average pool in a captured graph computes, and graph forms that compute the same; used by
``avg_pool_as_conv``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from strop.kernels.windows import WINDOW
from strop.transforms._graph import Builder, argument, aten, float_of, static, tensor

POOLS = {aten.avg_pool1d.default: 1, aten.avg_pool2d.default: 2, aten.avg_pool3d.default: 3}


@dataclass(frozen=True, slots=True)
class Pool:
    """One average pool; the tuples have one entry per dimension of space. ``divisor`` 0: the number of places in the
    window.
    """

    node: Node
    source: Node
    sizes: tuple[int, ...]
    result: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    include_padding: bool
    divisor: int

    @property
    def axes(self) -> int:
        """Dimensions of space."""
        return len(self.kernel)

    @property
    def right(self) -> tuple[int, ...]:
        """Zeros needed behind the input so that every window is complete; negative when windows end before the input
        does.
        """
        reach = [(r - 1) * s + k for r, s, k in zip(self.result, self.stride, self.kernel, strict=True)]
        return tuple(need - size - pad for need, size, pad in zip(reach, self.sizes, self.padding, strict=True))

    def counts(self, axis: int) -> list[int]:
        """For each window along ``axis``, how many places count: the rule of ``avg_pool2d``, ceil mode included."""
        kernel, stride, pad, size = self.kernel[axis], self.stride[axis], self.padding[axis], self.sizes[axis]
        starts = [place * stride - pad for place in range(self.result[axis])]
        if self.include_padding:
            return [min(start + kernel, size + pad) - start for start in starts]
        return [min(start + kernel, size) - max(start, 0) for start in starts]


def read_pool(node: Node) -> Pool | None:
    """Read an average pool, or None when it is not of floating-point numbers or its space is symbolic."""
    axes = POOLS[node.target]  # type: ignore[index]
    before, after = tensor(node.args[0]), tensor(node)
    if before is None or after is None or float_of(node) is None:
        return None
    sizes, result = static(before.shape[-axes:]), static(after.shape[-axes:])
    if sizes is None or result is None or 0 in result:
        return None
    kernel = spread_over(node.args[1], axes)
    return Pool(
        node=node,
        source=node.args[0],  # type: ignore[arg-type]
        sizes=sizes,
        result=result,
        kernel=kernel,
        stride=spread_over(argument(node, 2, "stride"), axes) or kernel,
        padding=spread_over(argument(node, 3, "padding", 0), axes),
        include_padding=bool(argument(node, 5, "count_include_pad", True)),
        divisor=int(argument(node, 6, "divisor_override") or 0),
    )


def spread_over(value: Any, axes: int) -> tuple[int, ...]:
    """A pool's argument per dimension of space: one number counts for all; nothing stays nothing."""
    listed = () if value is None else (value,) if isinstance(value, int) else tuple(value)
    return listed * axes if len(listed) == 1 else listed


def shifted(pool: Pool, add: Builder) -> Node:
    """Windows as sums of shifted slices, one dimension after the other."""
    value, dtype = _widened(pool, add)
    first = _dims(value) - pool.axes
    value = _padded(pool, value, add)
    for axis in reversed(range(pool.axes)):
        reach = pool.stride[axis] * (pool.result[axis] - 1) + 1
        slices = [
            add(aten.slice.Tensor, value, first + axis, shift, shift + reach, pool.stride[axis])
            for shift in range(pool.kernel[axis])
        ]
        value = _tree_sum(slices, add)
    return _narrowed(_divided(pool, value, add), dtype, add)


def convolved(pool: Pool, add: Builder) -> Node:
    """Windows as a depthwise convolution with weights of one; sums are divided afterwards, so that exact means stay
    exact.
    """
    value, dtype = _widened(pool, add)
    value = _padded(pool, value, add)
    fake = tensor(value)
    batched = fake is not None and fake.dim() == pool.axes + 2
    if not batched:
        value = add(aten.unsqueeze.default, value, 0)
    widened = tensor(value)
    assert widened is not None  # noqa: S101 - the builder gives every node its tensor
    channels = widened.shape[1]
    ones = add(aten.full.default, [channels, 1, *pool.kernel], 1.0, dtype=widened.dtype, device=widened.device)
    nothing = [0] * pool.axes
    value = add(
        aten.convolution.default,
        value,
        ones,
        None,
        list(pool.stride),
        nothing,
        [1] * pool.axes,
        False,
        nothing,
        channels,
    )
    if not batched:
        value = add(aten.squeeze.dim, value, 0)
    return _narrowed(_divided(pool, value, add), dtype, add)


def native(pool: Pool, add: Builder) -> Node:
    """Windows by Strop's own kernel, see ``strop.kernels.windows``."""
    ones = [1] * pool.axes
    windows = (list(pool.kernel), list(pool.stride), list(pool.padding), ones, list(pool.result))
    return add(WINDOW, pool.source, "mean", *windows, pool.include_padding, pool.divisor)


FORMS: dict[str, Callable[[Pool, Builder], Node]] = {"shifted": shifted, "conv": convolved, "native": native}


def _dims(node: Node) -> int:
    value = tensor(node)
    return 0 if value is None else value.dim()


def _widened(pool: Pool, add: Builder) -> tuple[Node, torch.dtype]:
    """Half-precision windows are summed in float32, as the original sums them."""
    dtype = float_of(pool.node) or torch.float32
    if dtype in (torch.float32, torch.float64):
        return pool.source, dtype
    return add(aten._to_copy.default, pool.source, dtype=torch.float32), dtype


def _narrowed(value: Node, dtype: torch.dtype, add: Builder) -> Node:
    return value if float_of(value) == dtype else add(aten._to_copy.default, value, dtype=dtype)


def _padded(pool: Pool, value: Node, add: Builder) -> Node:
    margins: list[int] = []
    for left, right in zip(reversed(pool.padding), reversed(pool.right), strict=True):
        margins += (left, max(right, 0))
    return add(aten.constant_pad_nd.default, value, margins, 0.0) if any(margins) else value


def _tree_sum(terms: Sequence[Node], add: Builder) -> Node:
    """Pairwise: as many roundings as the depth of the tree, instead of one per term."""
    level = list(terms)
    while len(level) > 1:
        pairs = [add(aten.add.Tensor, a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]


def _divided(pool: Pool, sums: Node, add: Builder) -> Node:
    if pool.divisor:
        return add(aten.div.Tensor, sums, pool.divisor)
    each = [pool.counts(axis) for axis in range(pool.axes)]
    if all(len(set(counts)) == 1 for counts in each):
        return add(aten.div.Tensor, sums, math.prod(counts[0] for counts in each))
    value = sums
    for axis, counts in enumerate(each):
        value = add(aten.div.Tensor, value, _counts_along(pool, axis, counts, sums, add))
    return value


def _counts_along(pool: Pool, axis: int, counts: list[int], sums: Node, add: Builder) -> Node | int:
    """Counts of one dimension, made from indices so that nothing is stored; they broadcast over the sums."""
    if len(set(counts)) == 1:
        return counts[0]
    fake = tensor(sums)
    assert fake is not None  # noqa: S101 - the builder gives every node its tensor
    size, pad = pool.sizes[axis], pool.padding[axis]
    starts = add(
        aten.arange.start_step, -pad, -pad + len(counts) * pool.stride[axis], pool.stride[axis], device=fake.device
    )
    ends = add(
        aten.clamp_max.default, add(aten.add.Tensor, starts, pool.kernel[axis]), size + pad * pool.include_padding
    )
    begins = starts if pool.include_padding else add(aten.clamp_min.default, starts, 0)
    count = add(aten._to_copy.default, add(aten.sub.Tensor, ends, begins), dtype=fake.dtype)
    return add(aten.view.default, count, [-1] + [1] * (pool.axes - 1 - axis))
