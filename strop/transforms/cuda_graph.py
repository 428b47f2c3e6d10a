"""One launch for a whole graph of kernels; a user could have switched that on, so nothing of it counts as Strop's own
gain.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from strop.records.candidate import Origin
from strop.records.graph import Role
from strop.records.opportunity import Legality
from strop.records.recipe import Scalar, Step
from strop.records.target import Target
from strop.transforms._base import Example, Rewrite, Transform
from strop.transforms._estimate import call_ns, memory_ns, size_bytes, traffic_bytes
from strop.transforms._graph import CUDA_GRAPH, ROLE, is_mutated, static, tensor

_STATIC = "strop_static"


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(64, 64), torch.nn.LayerNorm(64), torch.nn.GELU())]
    return torch.nn.Sequential(*layers), (torch.randn(4, 64),)


class CudaGraph(Transform):
    """See the class variables."""

    name: ClassVar[str] = "cuda_graph"
    summary: ClassVar[str] = "all kernels of a graph captured once and launched as one CUDA graph"
    legality: ClassVar[tuple[Legality, ...]] = (Legality.BIT_EXACT,)
    origin: ClassVar[Origin] = Origin.COMPILER
    devices: ClassVar[tuple[str, ...]] = ("cuda",)
    applies_when: ClassVar[str] = (
        "everything in the graph lies on the device, no size varies, nothing depends on values that the host would "
        "have to read, and no argument of the call is written to (parameters and buffers may be)"
    )
    valid_because: ClassVar[str] = (
        "A replay launches the captured kernels with the captured arguments in the captured order (CUDA programming "
        "guide, CUDA Graphs). Inputs are first copied to where the graph reads them; parameters are read where they "
        "lie, and when they move the call is captured anew; results are copied out, so the caller owns them."
    )
    pays_when: ClassVar[str] = (
        "launching takes longer than running: many small kernels. Large inputs and results pay for being copied"
    )
    example: ClassVar[Example] = Example(build=_example, says="Small layers, whose launches take most of the time.")

    def applications(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """One rewrite for the whole graph."""
        if not graph.meta.get(CUDA_GRAPH) and not _obstacle(graph):
            yield Rewrite(
                step=Step(self.name),
                nodes=(),
                gain_ns=_gain_ns(graph, target),
                apply=partial(_mark, graph),
                tunable=False,
            )

    def why_not(self, graph: GraphModule, target: Target) -> str:
        """What stands in the way."""
        return _obstacle(graph) or "The graph is captured already."


def _mark(graph: GraphModule) -> None:
    graph.meta[CUDA_GRAPH] = True


def _obstacle(graph: GraphModule) -> str:
    """The first thing that a replay would get wrong, as a sentence; empty when there is none."""
    for node in graph.graph.nodes:
        reason = _placeholder_obstacle(node) if node.op == "placeholder" else _node_obstacle(node)
        if reason:
            return reason
    if not any(_launches(node) for node in graph.graph.nodes):
        return "The graph computes nothing, so there is nothing to launch."
    return ""


def _placeholder_obstacle(node: Node) -> str:
    _, path = node.meta.get(ROLE, (Role.INPUT, node.name))
    value = tensor(node)
    if value is None:
        return f"'{path}' is a number that may change between calls, and a replay would keep the captured one."
    if value.device.type != "cuda":
        return f"'{path}' lies on the host ({value.device}), and a replay would not read it again."
    if static(value.shape) is None:
        return f"A size of '{path}' varies between calls, and a graph is captured for one size."
    if not node.meta.get(_STATIC):
        if is_mutated(node):
            return f"The graph writes to its argument '{path}', and a replay would write to a copy of it."
        if _overlaps(value):
            return f"Elements of '{path}' share memory (as after expand), so it has no copy with the same layout."
    return ""


def _overlaps(value: torch.Tensor) -> bool:
    return any(step == 0 and size > 1 for step, size in zip(value.stride(), value.shape, strict=True))


def _node_obstacle(node: Node) -> str:
    if torch.Tag.cudagraph_unsafe in getattr(node.target, "tags", ()):
        return f"The author of {node.target} says that it cannot be captured ({node.name})."
    for value in _values(node):
        if isinstance(value, torch.Tensor):
            if value.device.type != "cuda":
                return f"{node.name} works on the host ({value.device}), which no capture can see."
            if static(value.shape) is None:
                return f"The size of {node.name} depends on values, and a graph is captured for one size."
        elif isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            return f"{node.name} gives a number that the host reads, which no capture can see."
    return ""


def _values(node: Node) -> Iterable[Any]:
    return tree_leaves(node.meta.get("val"))


def _launches(node: Node) -> bool:
    """Whether a node can become a kernel: views and picking from tuples cannot."""
    if node.op != "call_function" or node.target is operator.getitem:
        return False
    schema = getattr(node.target, "_schema", None)
    return schema is None or not any(each.alias_info and not each.alias_info.is_write for each in schema.returns)


def _gain_ns(graph: GraphModule, target: Target) -> float:
    """Launches of all operators, less the time that the device is busy anyway, less the copies in and out.

    That the compiler joins operators makes this too much, that kernels take longer than their traffic too little.
    """
    nodes = list(graph.graph.nodes)
    running_ns = memory_ns(2 * traffic_bytes(nodes), target)
    launching_ns = call_ns(sum(map(_launches, nodes)), target)
    moving = [node for node in nodes if node.op == "placeholder" and not node.meta.get(_STATIC)]
    moved = sum(size_bytes(tensor(node)) for node in (*moving, *graph.graph.output_node().all_input_nodes))
    return launching_ns - max(running_ns, call_ns(1, target)) - memory_ns(2 * moved, target)


ITEM = CudaGraph()
