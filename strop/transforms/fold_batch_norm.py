"""Batch norm in eval mode is an affine map per channel; it goes into the weights of the product in front of it."""

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
from strop.transforms._estimate import call_ns, elements, memory_ns, size_bytes, vector_ns
from strop.transforms._everywhere import PlacedTransform
from strop.transforms._graph import (
    Builder,
    argument,
    at,
    aten,
    calls,
    float_of,
    of_parameters,
    only_item,
    replace,
    shape_of,
    step,
    tensor,
)

NORM = aten._native_batch_norm_legit_no_training.default
_TRAINING = (aten._native_batch_norm_legit_functional.default, aten._native_batch_norm_legit.no_stats)
_PRODUCTS = (aten.convolution.default, aten.addmm.default, aten.mm.default)
_CARRIERS = (aten.view.default, aten.permute.default)


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
    for buffer in module.buffers():
        buffer.add_(torch.rand_like(buffer, dtype=torch.float32).to(buffer.dtype))
    return module.eval(), (torch.randn(2, 3, 12, 12),)


@dataclass(frozen=True, slots=True)
class _Site:
    """A batch norm, the product in front of it, and the views and permutations between the two."""

    norm: Node
    item: Node
    product: Node
    carriers: tuple[Node, ...]


class FoldBatchNorm(PlacedTransform):
    """See the class variables."""

    name: ClassVar[str] = "fold_batch_norm"
    summary: ClassVar[str] = (
        "eval-mode batch norm folded into the weights and bias of the convolution or product before it"
    )
    legality: ClassVar[tuple[Legality, ...]] = (Legality.REASSOCIATED, Legality.PARAMETERS_FROZEN)
    applies_when: ClassVar[str] = (
        "batch norm with running statistics follows a convolution (1d, 2d, 3d, grouped or transposed) or a matrix "
        "product whose result nothing else uses, and weights, bias and statistics are parameters or unchanging buffers"
    )
    valid_because: ClassVar[str] = (
        "y = (W x + b - mean) * g / sqrt(var + eps) + beta is W' x + b' with W' = W * g / sqrt(var + eps) per output "
        "channel and b' = (b - mean) * g / sqrt(var + eps) + beta, because convolution is linear in its weights "
        "(Jacob et al., Quantization and Training of Neural Networks, CVPR 2018, section 3.2)."
    )
    pays_when: ClassVar[str] = (
        "nothing element-wise follows the norm, so that a whole pass over memory goes; otherwise only the arithmetic "
        "goes"
    )
    example: ClassVar[Example] = Example(
        build=_example, says="Convolution, batch norm and ReLU of an image classifier."
    )

    def places(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """One rewrite per foldable norm."""
        known: dict[Node, bool] = {}
        for norm in calls(graph, NORM):
            site = _site(norm, known) if at(norm, arguments) else None
            if isinstance(site, _Site):
                yield Rewrite(
                    step=step(self.name, norm),
                    nodes=(site.product.name, *(each.name for each in site.carriers), norm.name, site.item.name),
                    gain_ns=_gain_ns(site, target),
                    apply=partial(_apply, graph, site),
                )

    def why_not(self, graph: GraphModule, target: Target) -> str:
        """What is missing."""
        norms = list(calls(graph, NORM))
        if not norms:
            if list(calls(graph, *_TRAINING)):
                return "Batch norm here uses the statistics of the batch (train mode), which no weights can hold."
            return "The graph has no batch norm with running statistics."
        return f"{norms[0].name} cannot be folded: {_site(norms[0], {})}."


def _site(norm: Node, known: dict[Node, bool]) -> _Site | str:
    """The site, or why there is none, as half a sentence."""
    item = only_item(norm, 0)
    if item is None:
        return "its saved statistics are used, or its result is not"
    if not all(of_parameters(each, known) for each in norm.args[1:5]):
        return "its statistics or affine parameters are not constant"
    node, channel, carriers = norm.args[0], 1, list[Node]()
    while isinstance(node, Node) and node.target in _CARRIERS and len(node.users) == 1:
        moved = _channel_before(node, channel)
        if moved is None:
            return f"{node.name} in front of it mixes channels with other dimensions"
        channel, node = moved, (carriers.append(node), node.args[0])[1]
    if not isinstance(node, Node) or node.target not in _PRODUCTS or len(node.users) != 1:
        return "no convolution or matrix product is in front of it whose result it alone uses"
    value = tensor(node)
    if value is None or channel != (1 if node.target is aten.convolution.default else value.dim() - 1):
        return f"{node.name} in front of it has its features in another dimension"
    weights = _weights(node)
    if not all(of_parameters(each, known) for each in weights):
        return f"the weights of {node.name} are not parameters"
    if any(each is not None and float_of(each) != float_of(node) for each in weights) or float_of(node) != float_of(
        item
    ):
        return f"{node.name} and its weights have different types"
    return _Site(norm, item, node, tuple(carriers))


def _channel_before(node: Node, channel: int) -> int | None:
    """Where dimension ``channel`` of a view's or permutation's result was in its input."""
    before, after = tensor(node.args[0]), tensor(node)
    if before is None or after is None:
        return None
    if node.target is aten.permute.default:
        order: Any = node.args[1]
        return order[channel] % before.dim()
    last = channel == after.dim() - 1 and type(after.shape[-1]) is int and after.shape[-1] == before.shape[-1]
    return before.dim() - 1 if last else None


def _weights(product: Node) -> tuple[Any, Any]:
    """Weight and bias of a product; None for a bias that is not there."""
    if product.target is aten.convolution.default:
        return product.args[1], product.args[2]
    if product.target is aten.addmm.default:
        return product.args[2], product.args[0]
    return product.args[1], None


def _gain_ns(site: _Site, target: Target) -> float:
    value = tensor(site.item)
    assert value is not None  # noqa: S101 - the site was read from it
    alone = not all(torch.Tag.pointwise in getattr(user.target, "tags", ()) for user in site.item.users)
    moved_ns = memory_ns(2 * size_bytes(value), target) + call_ns(1, target) if alone else 0.0
    return moved_ns + 0.1 * vector_ns(2.0 * elements(value), target)


def _apply(graph: GraphModule, site: _Site) -> None:
    add = Builder(graph.graph, site.product)
    weight, bias = _folded(site, add)
    product = _rebuilt(site.product, weight, bias, add)
    for carrier in reversed(site.carriers):
        product = add(carrier.target, product, *carrier.args[1:])
    replace(site.item, product)


def _folded(site: _Site, add: Builder) -> tuple[Node, Node]:
    """Weights and bias with the norm in them: computed in float64 and rounded once, when parameters are delivered."""
    weight, bias = _weights(site.product)
    gamma, beta, mean, variance = (_wide(each, add) for each in site.norm.args[1:5])
    eps: Any = argument(site.norm, 6, "eps", 1e-5)
    scale = add.frozen(aten.rsqrt.default, add.frozen(aten.add.Tensor, variance, eps))
    if gamma is not None:
        scale = add.frozen(aten.mul.Tensor, scale, gamma)
    centre = _minus_mean(_wide(_beta_times(site.product, bias, add), add), mean, add)
    shift = add.frozen(aten.mul.Tensor, centre, scale)
    if beta is not None:
        shift = add.frozen(aten.add.Tensor, shift, beta)
    wide: Any = _wide(weight, add)
    scaled = _scaled(site.product, wide, scale, add)
    dtype = float_of(weight)
    return add.frozen(aten._to_copy.default, scaled, dtype=dtype), add.frozen(aten._to_copy.default, shift, dtype=dtype)


def _wide(value: Any, add: Builder) -> Any:
    return None if value is None else add.frozen(aten._to_copy.default, value, dtype=torch.float64)


def _beta_times(product: Node, bias: Any, add: Builder) -> Any:
    factor: Any = product.kwargs.get("beta", 1) if product.target is aten.addmm.default else 1
    return bias if bias is None or factor == 1 else add.frozen(aten.mul.Tensor, bias, factor)


def _minus_mean(bias: Any, mean: Node, add: Builder) -> Node:
    return add.frozen(aten.neg.default, mean) if bias is None else add.frozen(aten.sub.Tensor, bias, mean)


def _scaled(product: Node, weight: Node, scale: Node, add: Builder) -> Node:
    """Scale per output channel, wherever the weight keeps them: first for a convolution, behind the groups when
    transposed.
    """
    if product.target is not aten.convolution.default:
        factor: Any = product.kwargs.get("alpha", 1)
        scaled = add.frozen(aten.mul.Tensor, weight, scale)
        return scaled if factor == 1 else add.frozen(aten.mul.Tensor, scaled, factor)
    shape = shape_of(weight)
    assert shape is not None  # noqa: S101 - weights have no symbolic sizes
    ones = [1] * (len(shape) - 2)
    if not product.args[6]:
        return add.frozen(aten.mul.Tensor, weight, add.frozen(aten.view.default, scale, [-1, 1, *ones]))
    groups: Any = product.args[8]
    grouped = add.frozen(aten.view.default, weight, [groups, shape[0] // groups, *shape[1:]])
    by_group = add.frozen(aten.view.default, scale, [groups, 1, shape[1], *ones])
    return add.frozen(aten.view.default, add.frozen(aten.mul.Tensor, grouped, by_group), list(shape))


def _rebuilt(product: Node, weight: Node, bias: Node, add: Builder) -> Node:
    if product.target is aten.convolution.default:
        return add(product.target, product.args[0], weight, bias, *product.args[3:])
    source = product.args[1] if product.target is aten.addmm.default else product.args[0]
    return add(aten.addmm.default, bias, source, weight)


ITEM = FoldBatchNorm()
