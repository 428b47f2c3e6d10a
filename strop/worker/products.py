"""The products of a captured graph that no honest algebra removes: the arithmetic below which a candidate is
impossible.

A product counts only if nothing linear stands between it and another product, a sum, a mask or a slice: otherwise
associativity may remove it. A convolution counts as one multiplication per pair of channels and result, which neither
Winograd's nor Fourier's method undercuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch.fx import GraphModule, Node

from strop.worker.operators import words

_PRODUCTS = words("mm addmm bmm baddbmm convolution")
_ENDS = _PRODUCTS | words(
    "sum mean cumsum avg_pool1d avg_pool2d avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d var var_mean "
    "tril triu where masked_fill slice select index gather diagonal embedding"
)
_LINEAR = words(
    "add sub mul div neg view permute expand unsqueeze squeeze clone _to_copy cat constant_pad_nd transpose t reshape "
    "alias split split_with_sizes getitem native_dropout _native_batch_norm_legit_no_training copy"
)
_TRANSPOSED = 6
"""Position of ``transposed`` among the arguments of ``aten.convolution``."""


def product_flop(graphs: Sequence[GraphModule]) -> int:
    """Floating-point operations of the products that have to be multiplied out, two per multiplication."""
    return sum(_flop(node) for graph in graphs for node in graph.graph.nodes)


def _flop(node: Node) -> int:
    result = _tensor(node)
    if _name(node) not in _PRODUCTS or result is None or _may_vanish(node):
        return 0
    factors = [tensor for tensor in map(_tensor, _factors(node)) if tensor is not None]
    if len(factors) < 2:
        return 0
    if _name(node) == "convolution":
        return 0 if node.args[_TRANSPOSED] else 2 * int(result.numel()) * int(factors[1].shape[1])
    return 2 * int(result.numel()) * int(factors[0].shape[-1])


def _may_vanish(node: Node) -> bool:
    """True if, through linear operators alone, it meets something with which it could be exchanged."""
    after = _reached(node, lambda each: list(each.users))
    before = (found for factor in _factors(node) for found in (factor, *_reached(factor, _sources)))
    return any(_name(each) in _ENDS for each in after) or any(_name(each) in _ENDS | {"expand"} for each in before)


def _sources(node: Node) -> list[Node]:
    return node.all_input_nodes if _name(node) in _LINEAR else []


def _reached(node: Node, neighbours: Callable[[Node], list[Node]]) -> Iterator[Node]:
    """Everything around a node up to and including the first operators that are not linear."""
    seen: set[Node] = set()
    todo = list(neighbours(node))
    while todo:
        each = todo.pop()
        if each not in seen:
            seen.add(each)
            yield each
            if _name(each) in _LINEAR:
                todo.extend(neighbours(each))


def _factors(node: Node) -> list[Node]:
    first = 1 if _name(node) in ("addmm", "baddbmm") else 0
    return [each for each in node.args[first : first + 2] if isinstance(each, Node)]


def _name(node: Node) -> str:
    if node.op != "call_function":
        return ""
    packet = getattr(node.target, "overloadpacket", node.target)
    return getattr(packet, "__name__", str(packet))


def _tensor(node: Node) -> torch.Tensor | None:
    value = node.meta.get("val")
    return value if isinstance(value, torch.Tensor) else None
