"""What no implementation of a captured graph can avoid: its inputs read once, its outputs written once, its products.

Everything here is a lower bound: where a graph leaves a choice, the smaller figure counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch.fx import GraphModule, Node

from strop.profiling.cost import base, read_bytes, readers, tensor_bytes
from strop.profiling.operators import SCATTERS, is_inplace, packet
from strop.profiling.products import irreducible_flop
from strop.records.graph import Role


class PlaceholderLike(Protocol):
    """One input of a captured graph: what it stands for and the path by which a person would name it."""

    @property
    def role(self) -> Role: ...
    @property
    def path(self) -> str: ...


class CapturedGraphLike(Protocol):
    """A captured graph with the meaning of its placeholders, in their order."""

    @property
    def module(self) -> GraphModule: ...
    @property
    def placeholders(self) -> Sequence[PlaceholderLike]: ...


def minimal_cost(graphs: Sequence[CapturedGraphLike]) -> tuple[int, int]:
    """``(minimal_bytes, product_flop)`` of one call that goes through ``graphs`` in this order.

    Parameters and buffers count once, however many graphs read them. Of a workload that breaks into several graphs
    only the inputs of the first and the outputs of the last count, since what lies between need not pass through
    memory. Products count where no algebra removes them; those of parameters alone can be computed ahead.
    """
    read: dict[tuple[Role, str], int] = {}
    flop = 0
    for position, graph in enumerate(graphs):
        ahead = _computable_ahead(graph)
        for node, slot in _slots(graph):
            if position == 0 or slot.role is not Role.INPUT:
                place = (slot.role, slot.path)
                read[place] = max(read.get(place, 0), _needed_bytes(node))
        goes_on = position + 1 < len(graphs)
        nodes = graph.module.graph.nodes
        flop += sum(irreducible_flop(node, goes_on=goes_on) for node in nodes if node not in ahead)
    written = _written_bytes(graphs[-1].module) if graphs else 0
    return sum(read.values()) + written, flop


def _slots(graph: CapturedGraphLike) -> list[tuple[Node, PlaceholderLike]]:
    nodes = [node for node in graph.module.graph.nodes if node.op == "placeholder"]
    return list(zip(nodes, graph.placeholders, strict=True))


def _computable_ahead(graph: CapturedGraphLike) -> set[Node]:
    """Nodes that depend on nothing but parameters, buffers and constants."""
    known = {node for node, slot in _slots(graph) if slot.role is not Role.INPUT}
    for node in graph.module.graph.nodes:
        if node.op == "get_attr" or (node.op == "call_function" and all(n in known for n in node.all_input_nodes)):
            known.add(node)
    return known


def _needed_bytes(node: Node) -> int:
    """What of an input has to be read: all of it, unless everybody who uses it needs less."""
    needed = sum(0 if _returns_to(user, node) else read_bytes(user, view) for user, view in readers(node))
    return min(tensor_bytes(node), needed)


def _returns_to(user: Node, node: Node) -> bool:
    """True when ``user`` changes a part of ``node`` that is only copied back: the rest need not be touched."""
    return (
        packet(user) in SCATTERS
        and base(user.all_input_nodes[0]) is node
        and all(_is_copy_back(reader, node) for reader, _ in readers(user))
    )


def _is_copy_back(node: Node, target: Node) -> bool:
    return packet(node) is torch.ops.aten.copy_ and base(node.all_input_nodes[0]) is target


def _written_bytes(module: GraphModule) -> int:
    """Outputs that are not inputs handed back, and the parts of inputs that the graph writes to."""
    written: dict[Node, int] = {}
    for node in module.graph.nodes:
        if node.op == "output":
            for source in node.all_input_nodes:
                origin = base(source)
                if origin.op == "call_function" and not is_inplace(origin):
                    written[origin] = max(written.get(origin, 0), tensor_bytes(source))
        elif node.op == "call_function" and is_inplace(node):
            target = base(node.all_input_nodes[0])
            if target.op == "placeholder":
                written[target] = max(written.get(target, 0), _changed_bytes(node, target))
    return sum(written.values())


def _changed_bytes(node: Node, target: Node) -> int:
    if packet(node) is torch.ops.aten.copy_ and len(node.all_input_nodes) > 1:
        source = base(node.all_input_nodes[1])
        if source.op == "call_function" and packet(source) in SCATTERS and _starts_from(source, target):
            values = sum(tensor_bytes(each) for each in source.all_input_nodes[1:])
            return min(tensor_bytes(target), values)
    return tensor_bytes(node.all_input_nodes[0])


def _starts_from(node: Node, target: Node) -> bool:
    return base(node.all_input_nodes[0]) is target
