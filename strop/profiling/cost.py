"""Bytes and operations of graph nodes, from the shapes that the capture left on them.

Bytes are what has to go to and from memory when caches hold nothing: every distinct input once, every output once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch.fx import Node
from torch.utils._pytree import tree_leaves

from strop.profiling.operators import (
    GATHERS,
    SCATTERS,
    SHAPE_ONLY,
    is_inplace,
    is_view,
    packet,
    product_formula,
)


class Cost(NamedTuple):
    """``moved_bytes`` read and written; ``work_flop`` floating-point operations, a multiply-add counting two."""

    moved_bytes: int
    work_flop: int


def node_cost(node: Node) -> Cost:
    """Cost of one node run alone. Placeholders, constants, views and the output node cost nothing.

    Products are counted by the formulas of ``torch.utils.flop_counter``; anything else counts one operation per element
    of its largest operand or result.
    """
    if node.op != "call_function" or is_view(node):
        return Cost(0, 0)
    read = sum(read_bytes(node, source) for source in node.all_input_nodes)
    return Cost(read + written_bytes(node), node_flop(node))


def region_cost(nodes: Iterable[Node]) -> Cost:
    """Cost of a kernel that computes all of ``nodes`` at once: what passes between them never reaches memory."""
    inside = {node for node in nodes if node.op == "call_function"}
    real = [node for node in inside if not is_view(node)]
    sources: dict[Node, int] = {}
    for node in real:
        for source in node.all_input_nodes:
            origin = base(source)
            if origin not in inside:
                taken = sources.get(origin, 0) + read_bytes(node, source)
                sources[origin] = min(taken, max(tensor_bytes(origin), read_bytes(node, source)))
    written = sum(written_bytes(node) for node in real if is_inplace(node) or _leaves(node, inside))
    return Cost(sum(sources.values()) + written, sum(node_flop(node) for node in real))


def node_flop(node: Node) -> int:
    """Floating-point operations of one node."""
    formula = product_formula(node)
    if formula is not None:
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda source: source.meta.get("val"))
        return hint(formula(*args, **kwargs, out_val=node.meta.get("val")))
    if node.op != "call_function" or is_view(node) or packet(node) in SHAPE_ONLY:
        return 0
    operands = [*node.all_input_nodes, node]
    if packet(node) in GATHERS:
        operands = [node]
    return max((elements(value) for each in operands for value in tensors(each)), default=0)


def is_product(node: Node) -> bool:
    """True for matrix products, convolutions and attention."""
    return product_formula(node) is not None


def read_bytes(node: Node, source: Node) -> int:
    """What ``node`` has to read of its argument ``source``."""
    whole = tensor_bytes(source)
    which = packet(node)
    is_first = bool(node.args) and node.args[0] is source
    if which in SHAPE_ONLY or node.op == "output":
        return 0
    if which in GATHERS and is_first:
        return min(whole, tensor_bytes(node))
    if is_first and which in SCATTERS and is_inplace(node):
        return 0
    if is_first and which is torch.ops.aten.copy_:
        return 0
    return whole


def written_bytes(node: Node) -> int:
    """What ``node`` has to write."""
    if packet(node) in SCATTERS and is_inplace(node):
        return min(tensor_bytes(node), sum(tensor_bytes(source) for source in node.all_input_nodes[1:]))
    return tensor_bytes(node)


def base(node: Node) -> Node:
    """The node whose memory a view shows."""
    while is_view(node) and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def readers(node: Node) -> Iterator[tuple[Node, Node]]:
    """Who uses the values of ``node``, views looked through, each with the view that it uses."""
    for user in node.users:
        if is_view(user):
            yield from readers(user)
        else:
            yield user, node


def tensors(node: Node) -> list[torch.Tensor]:
    """The tensors that a node stands for."""
    return [value for value in tree_leaves(node.meta.get("val")) if isinstance(value, torch.Tensor)]


def tensor_bytes(node: Node) -> int:
    """Memory behind the tensors of a node; elements that an expanded tensor repeats count once."""
    return sum(stored_elements(value) * value.element_size() for value in tensors(node))


def stored_elements(value: torch.Tensor) -> int:
    """Distinct elements of a tensor."""
    return math.prod(hint(size) for size, step in zip(value.shape, value.stride(), strict=True) if hint(step) != 0)


def elements(value: torch.Tensor) -> int:
    """Elements of a tensor; symbolic sizes count with the size that they had when the graph was captured."""
    return math.prod(hint(size) for size in value.shape)


def hint(size: Any) -> int:
    """A number for a size that may be symbolic; one that nothing is known about counts as 1, so costs are never too
    high.
    """
    if isinstance(size, torch.SymInt):
        known = size.node.hint if size.node.has_hint() else 1
        return int(known)
    return int(size)


def _leaves(node: Node, inside: set[Node]) -> bool:
    """True when somebody outside needs the node's result."""
    return any(user not in inside for user, _ in readers(node))
