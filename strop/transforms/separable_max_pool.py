"""Maximum pooling one dimension after the other: the maximum of a window is the maximum of its rows' maxima."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node

from strop.kernels import native as toolchain
from strop.kernels.windows import DTYPES, WINDOW
from strop.records.opportunity import Legality, ParameterRange
from strop.records.recipe import Scalar
from strop.records.target import Target
from strop.transforms._base import Example, Rewrite
from strop.transforms._estimate import call_ns, elements, memory_ns, scalar_ns, size_bytes, vector_ns
from strop.transforms._everywhere import PlacedTransform
from strop.transforms._graph import (
    Builder,
    argument,
    at,
    aten,
    calls,
    float_of,
    only_item,
    replace,
    static,
    step,
    tensor,
)
from strop.transforms._pooling import spread_over

PARTS = 4
"""Of a batch; while one is worked on, the others need no memory between the passes. Inductor reuses it for the next
part and writes every part to its place in the result.
"""
POOLS = {aten.max_pool2d_with_indices.default: 2, aten.max_pool3d_with_indices.default: 3}


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    return torch.nn.MaxPool2d(5, stride=1, padding=2), (torch.randn(2, 8, 20, 20),)


@dataclass(frozen=True, slots=True)
class _Pool:
    """One maximum pool whose indices nothing uses; the tuples have one entry per dimension of space."""

    node: Node
    item: Node
    source: Node
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    result: tuple[int, ...]
    ceil_mode: bool


class SeparableMaxPool(PlacedTransform):
    """See the class variables."""

    name: ClassVar[str] = "separable_max_pool"
    summary: ClassVar[str] = "maximum pooling one dimension after the other: k + k comparisons instead of k x k"
    legality: ClassVar[tuple[Legality, ...]] = (Legality.BIT_EXACT,)
    applies_when: ClassVar[str] = (
        "max_pool1d, 2d or 3d over floating-point numbers whose indices nothing uses, with any window, stride, "
        "padding, dilation and ceil mode; the sizes of space are known"
    )
    valid_because: ClassVar[str] = (
        "max over i, j of x_ij = max over i of (max over j of x_ij), and a maximum rounds nothing (separable "
        "structuring elements: Haralick, Sternberg and Zhuang, Image Analysis Using Mathematical Morphology, 1987). "
        "NaN stays NaN in any order, and padding is minus infinity."
    )
    pays_when: ClassVar[str] = (
        "windows overlap or have borders, so that the compiler looks at each element several times"
    )
    parameters: ClassVar[tuple[ParameterRange, ...]] = (
        ParameterRange(name="form", choices=("native", "passes", "parts")),
    )
    example: ClassVar[Example] = Example(build=_example, says="The 5 x 5 pool of a spatial pyramid, without a stride.")

    def places(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """One rewrite per pool; without a ``form`` the one with the best estimate."""
        for node in calls(graph, *POOLS):
            pool = _read(node) if at(node, arguments) else None
            gains = _gains(pool, target) if pool is not None else {}
            if pool is None or not gains:
                continue
            form = str(arguments.get("form", max(gains, key=gains.__getitem__)))
            if form in gains:
                yield Rewrite(
                    step=step(self.name, node, form=form),
                    nodes=(node.name, pool.item.name),
                    gain_ns=gains[form],
                    apply=partial(_apply, graph, pool, form),
                )

    def why_not(self, graph: GraphModule, target: Target) -> str:
        """What is missing."""
        pools = list(calls(graph, *POOLS))
        if not pools:
            return "The graph has no maximum pooling."
        return f"{pools[0].name} gives its indices away, has one dimension, pools integers or has a symbolic size."


def _read(node: Node) -> _Pool | None:
    axes, item = POOLS[node.target], only_item(node, 0)  # type: ignore[index]
    before, after = tensor(node.args[0]), tensor(item)
    if item is None or before is None or after is None or float_of(item) is None:
        return None
    sizes, result = static(before.shape[-axes:]), static(after.shape[-axes:])
    if sizes is None or result is None or 0 in result:
        return None
    kernel = spread_over(node.args[1], axes)
    return _Pool(
        node=node,
        item=item,
        source=node.args[0],  # type: ignore[arg-type]
        kernel=kernel,
        stride=spread_over(argument(node, 2, "stride"), axes) or kernel,
        padding=spread_over(argument(node, 3, "padding", 0), axes),
        dilation=spread_over(argument(node, 4, "dilation", 1), axes),
        result=result,
        ceil_mode=bool(argument(node, 5, "ceil_mode", False)),
    )


def _gains(pool: _Pool, target: Target) -> dict[str, float]:
    """Estimated gain in ns of each form that this pool can take here."""
    before, after = tensor(pool.source), tensor(pool.item)
    assert before is not None  # noqa: S101 - _read saw both
    assert after is not None  # noqa: S101
    results = float(elements(after))
    moved_ns = memory_ns(size_bytes(before) + size_bytes(after), target)
    compiler_ns = max(moved_ns, scalar_ns(results * math.prod(pool.kernel), target))
    gains = {}
    if sum(size > 1 for size in pool.kernel) > 1:
        passes_ns = scalar_ns(results * sum(pool.kernel), target)
        gain_ns = compiler_ns - max(2 * moved_ns, passes_ns) - call_ns(1, target)
        if _fills_in_parts(before, len(pool.kernel), target):
            gains["parts"] = gain_ns
        gains["passes"] = gain_ns
    native = after.device.type == "cpu" and "cpp" in target.languages and toolchain.compiler() is not None
    if native and after.dtype in DTYPES:
        own_ns = vector_ns(results * sum(pool.kernel), target)
        gains["native"] = compiler_ns - max(moved_ns, own_ns) - call_ns(1, target)
    return gains


def _fills_in_parts(value: torch.Tensor, axes: int, target: Target) -> bool:
    """Whether it has a batch, a part of which takes so long that launching several kernels is nothing beside it."""
    batched = value.dim() > axes and static(value.shape[:1]) is not None and value.shape[0] >= PARTS
    return batched and size_bytes(value) >= PARTS * target.last_level_cache_bytes


def _apply(graph: GraphModule, pool: _Pool, form: str) -> None:
    add = Builder(graph.graph, pool.node)
    if form == "native":
        windows = (pool.kernel, pool.stride, pool.padding, pool.dilation, pool.result)
        replace(pool.item, add(WINDOW, pool.source, "max", *map(list, windows), True, 0))
        return
    if form == "passes":
        replace(pool.item, _passes(pool, pool.source, add))
        return
    before = tensor(pool.source)
    assert before is not None  # noqa: S101 - _read saw it
    ends = [before.shape[0] * part // PARTS for part in range(PARTS + 1)]
    parts = [add(aten.slice.Tensor, pool.source, 0, *part) for part in itertools.pairwise(ends)]
    replace(pool.item, add(aten.cat.default, [_passes(pool, part, add) for part in parts], 0))


def _passes(pool: _Pool, value: Node, add: Builder) -> Node:
    axes = len(pool.kernel)
    for axis in reversed(range(axes)):
        kernel, stride, padding, dilation = (
            [part[axis] if place == axis else plain for place in range(axes)]
            for part, plain in ((pool.kernel, 1), (pool.stride, 1), (pool.padding, 0), (pool.dilation, 1))
        )
        value = add.item(add(pool.node.target, value, kernel, stride, padding, dilation, pool.ceil_mode), 0)
    return value


ITEM = SeparableMaxPool()
