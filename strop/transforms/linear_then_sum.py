"""A sum over the features that a product makes is a product with summed weights: one column instead of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node

from strop.records.opportunity import Legality
from strop.records.recipe import Scalar
from strop.records.target import Target
from strop.transforms._base import Example, Rewrite
from strop.transforms._estimate import elements, memory_ns, product_ns, size_bytes
from strop.transforms._everywhere import PlacedTransform
from strop.transforms._graph import (
    FLOATS,
    Builder,
    argument,
    at,
    aten,
    calls,
    float_of,
    of_parameters,
    replace,
    step,
    tensor,
)

SUMS = (aten.sum.dim_IntList, aten.sum.default, aten.mean.dim, aten.mean.default)
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default)
_SCALINGS = (aten.mul.Tensor, aten.div.Tensor, aten.neg.default)
_SHIFTS = (aten.add.Tensor, aten.sub.Tensor)


class _Head(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(64, 128)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return (self.linear(rows) / 2).sum(dim=-1, keepdim=True)


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    return _Head(), (torch.randn(4, 16, 64),)


@dataclass(frozen=True, slots=True)
class _Site:
    """A reduction, the linear operations in front of it (nearest to the product first), and the product."""

    reduction: Node
    chain: tuple[Node, ...]
    product: Node
    features: int


class LinearThenSum(PlacedTransform):
    """See the class variables."""

    name: ClassVar[str] = "linear_then_sum"
    summary: ClassVar[str] = "sum or mean over a product's output features as a product with summed weights"
    legality: ClassVar[tuple[Legality, ...]] = (
        Legality.WORK_REMOVED,
        Legality.REASSOCIATED,
        Legality.FINITE_INPUTS,
        Legality.PARAMETERS_FROZEN,
    )
    applies_when: ClassVar[str] = (
        "sum or mean over (at least) the last dimension of mm, addmm, bmm or baddbmm in floating point, with nothing "
        "in between but scaling by numbers, adding numbers or tensors, and views that keep the features last; nothing"
        " else uses the product"
    )
    valid_because: ClassVar[str] = (
        "Summation is linear and finite sums commute: sum_n sum_k x_mk w_kn = sum_k x_mk (sum_n w_kn) (Fubini for "
        "finite sums). Constants and added tensors are summed likewise. An infinity or NaN that the full product "
        "would make only in some columns can come out differently, so inputs have to be finite."
    )
    pays_when: ClassVar[str] = (
        "always: the product's work falls by the number of features, and its result is never stored"
    )
    example: ClassVar[Example] = Example(build=_example, says="A linear layer, halved, summed over its 128 outputs.")

    def places(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """One rewrite per reduction."""
        for reduction in calls(graph, *SUMS):
            site = _site(reduction) if at(reduction, arguments) else None
            if isinstance(site, _Site):
                yield Rewrite(
                    step=step(self.name, reduction),
                    nodes=(site.product.name, *(each.name for each in site.chain), reduction.name),
                    gain_ns=_gain_ns(site, target),
                    apply=partial(_apply, graph, site),
                )

    def why_not(self, graph: GraphModule, target: Target) -> str:
        """What is missing."""
        reductions = list(calls(graph, *SUMS))
        if not reductions:
            return "The graph sums or averages nothing over a dimension."
        return f"{reductions[-1].name} does not sum a product: {_site(reductions[-1])}."


def _site(reduction: Node) -> _Site | str:
    """The site, or why there is none, as half a sentence."""
    node: Any = reduction.args[0]
    value = tensor(node)
    if value is None or value.dim() == 0 or float_of(reduction) != float_of(node) or value.dtype not in FLOATS:
        return "it changes the type"
    features: Any = value.shape[-1]
    dims: Any = argument(reduction, 1, "dim") or list(range(value.dim()))
    if type(features) is not int or features < 2 or (value.dim() - 1) not in {dim % value.dim() for dim in dims}:
        return "it does not reduce the features, or there is just one, or their number is symbolic"
    chain = list[Node]()
    while isinstance(node, Node) and len(node.users) == 1 and (before := _before(node, features)) is not None:
        chain.append(node)
        node = before
    made = tensor(node)
    if not isinstance(node, Node) or node.target not in PRODUCTS or len(node.users) != 1 or made is None:
        return "what it sums is not a product that it alone uses, or an operation in between is not linear"
    if made.shape[-1] != features or made.dtype != value.dtype:
        return "the product has another type or other features than what is summed"
    return _Site(reduction, tuple(reversed(chain)), node, features)


def _before(node: Node, features: int) -> Node | None:
    """The operand through which ``node`` is linear over the features, or None."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
        return None
    source, value, result = node.args[0], tensor(node.args[0]), tensor(node)
    if value is None or result is None or value.dim() == 0 or value.dtype != result.dtype:
        return None
    if type(value.shape[-1]) is not int or value.shape[-1] != features or result.shape[-1] != features:
        return None
    if node.target is aten.view.default:
        return source
    if node.target is aten.neg.default or (node.target in _SCALINGS and isinstance(node.args[1], int | float)):
        return source
    # A tensor that is added may make the result larger than the product; then the sum is no longer one of its rows.
    keeps = node.target in _SHIFTS and [*map(str, value.shape)] == [*map(str, result.shape)]
    return source if keeps and not node.kwargs.get("rounding_mode") else None


def _gain_ns(site: _Site, target: Target) -> float:
    result, (left, right) = tensor(site.product), _factors(site.product)
    first, second = tensor(left), tensor(right)
    assert result is not None  # noqa: S101 - the site was read from them
    assert first is not None  # noqa: S101
    assert second is not None  # noqa: S101
    inner: Any = first.shape[-1]
    flops = 2.0 * elements(result) * (inner if type(inner) is int else 1)
    summed_ns = 0.0 if of_parameters(right) else memory_ns(size_bytes(second), target)
    product = max(product_ns(flops, result.dtype, target), memory_ns(size_bytes(second) + size_bytes(result), target))
    return product + memory_ns(size_bytes(result), target) - summed_ns


def _factors(product: Node) -> tuple[Any, Any]:
    shifted = product.target in (aten.addmm.default, aten.baddbmm.default)
    return (product.args[1], product.args[2]) if shifted else (product.args[0], product.args[1])


def _apply(graph: GraphModule, site: _Site) -> None:
    add = Builder(graph.graph, site.reduction)
    value = _summed_product(site, add)
    for node in site.chain:
        value = _relinear(node, value, site.features, add)
    averaged = site.reduction.target in (aten.mean.dim, aten.mean.default)
    if averaged:
        value = add(aten.div.Tensor, value, site.features)
    replace(site.reduction, add(site.reduction.target, value, *site.reduction.args[1:], **site.reduction.kwargs))


def _summed_product(site: _Site, add: Builder) -> Node:
    """The product's row sums, with one feature in place of many; half precision is multiplied and summed in float32."""
    left, right = _factors(site.product)
    dtype = float_of(site.product)
    half = dtype in (torch.float16, torch.bfloat16)
    frozen = of_parameters(right)
    make = add.weight(frozen)
    wide = torch.float64 if frozen and not half else torch.float32 if half else dtype
    column = make(aten.sum.dim_IntList, right, [-1], True, dtype=wide)
    if half:
        flat = make(aten.permute.default, column, [*range(len(column.meta["val"].shape) - 2), -1, -2])
        value = add(aten.mul.Tensor, add(aten._to_copy.default, left, dtype=torch.float32), flat)
        value = add(aten.sum.dim_IntList, value, [-1], True)
    else:
        column = column if wide == dtype else make(aten._to_copy.default, column, dtype=dtype)
        plain = aten.bmm.default if site.product.target in (aten.bmm.default, aten.baddbmm.default) else aten.mm.default
        value = add(plain, left, column)
    value = _with_bias(site, value, add)
    return value if float_of(value) == dtype else add(aten._to_copy.default, value, dtype=dtype)


def _with_bias(site: _Site, value: Node, add: Builder) -> Node:
    if site.product.target not in (aten.addmm.default, aten.baddbmm.default):
        return value
    alpha: Any = site.product.kwargs.get("alpha", 1)
    beta: Any = site.product.kwargs.get("beta", 1)
    if alpha != 1:
        value = add(aten.mul.Tensor, value, alpha)
    if beta == 0:
        return value
    return add(aten.add.Tensor, value, _summed(site.product.args[0], site.features, add), alpha=beta)


def _summed(term: Any, features: int, add: Builder) -> Any:
    """An added term, summed over the features and kept as one; a number counts once per feature."""
    if not isinstance(term, Node):
        return term * features
    value = tensor(term)
    assert value is not None  # noqa: S101 - the operands of an addition are tensors
    make = add.weight(of_parameters(term))
    if value.dim() > 0 and value.shape[-1] == features:
        return make(aten.sum.dim_IntList, term, [-1], True)
    return make(aten.mul.Tensor, term, features)


def _relinear(node: Node, value: Node, features: int, add: Builder) -> Node:
    if node.target is aten.view.default:
        sizes: Any = node.args[1]
        return add(node.target, value, [*sizes[:-1], 1])
    if node.target in _SHIFTS:
        return add(node.target, value, _summed(node.args[1], features, add), **node.kwargs)
    return add(node.target, value, *node.args[1:], **node.kwargs)


ITEM = LinearThenSum()
