"""Which regions of a workload's graphs a recipe replaces, cut out as workloads of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from strop.errors import NotSupported
from strop.lowering.kernel_edits import graph_part
from strop.lowering.recipes import apply_recipe
from strop.lowering.region_text import UNKNOWN, Values, region_text, values_of
from strop.records.opportunity import Legality
from strop.records.recipe import Recipe, Step
from strop.records.target import Target
from strop.transforms import SHELF
from strop.transforms._base import Rewrite
from strop.transforms._graph import of_parameters

PLACE = "at"


@dataclass(frozen=True, slots=True)
class CutOut:
    """What one step replaces: the step without its place, and the file; ``because`` says why there is no file.
    ``form`` is the same text for all regions of one form.
    """

    step: Step
    text: str = ""
    form: str = ""
    because: str = ""


def regions_of(
    recipe: Recipe, graphs: Iterable[tuple[GraphModule, Sequence[Any]]], target: Target, within: str = ""
) -> tuple[CutOut, ...]:
    """Every region that a step of the recipe replaces with something whose results may differ in their bits, but for
    whole graphs; of those that differ in their place and in what their inputs hold alone, the first. The graphs, each
    with the values of its inputs, are rewritten on the way.

    Raises:
        BadCandidate, UnknownName: as `strop.lowering.recipes.apply_recipe` does.
    """
    found: dict[str, CutOut] = {}
    for graph, inputs in graphs:

        def look(rewrite: Rewrite, graph: GraphModule = graph, inputs: Sequence[Any] = inputs) -> None:
            region = _region(rewrite, graph, inputs, within)
            if region is not None:
                found.setdefault(f"{region.step}: {region.form or region.because}", region)

        apply_recipe(graph_part(recipe), graph, target, before=look)
    return tuple(found.values())


def _region(rewrite: Rewrite, graph: GraphModule, inputs: Sequence[Any], within: str) -> CutOut | None:
    step = rewrite.step
    nodes = _replaced(rewrite, graph)
    if not nodes or SHELF.get(step.name).legality == (Legality.BIT_EXACT,) or _is_all(nodes, graph):
        return None
    somewhere = replace(step, arguments=tuple(pair for pair in step.arguments if pair[0] != PLACE))
    if any(isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable for node in nodes):
        return CutOut(somewhere, because="it writes to what it is given")
    around = list(dict.fromkeys(source for node in nodes for source in node.all_input_nodes if source not in nodes))
    try:
        values = _Looking(graph, around).values(inputs)
        form = region_text("", "", nodes, around, dict.fromkeys(around, UNKNOWN))
        return CutOut(somewhere, region_text(str(step), within, nodes, around, values), form)
    except NotSupported as error:
        return CutOut(somewhere, because=str(error))


def _is_all(nodes: Collection[Node], graph: GraphModule) -> bool:
    """Whether nothing is left of the graph beside them, so that alone they would be the same workload again."""
    return all(node in nodes or of_parameters(node) for node in graph.graph.nodes if node.op == "call_function")


def _replaced(rewrite: Rewrite, graph: GraphModule) -> Collection[Node]:
    """The nodes, in order, with what picks from their tuples of results, and with what only rearranges parameters for
    them: a weight shall be a weight.
    """
    nodes = {node for node in graph.graph.nodes if node.name in rewrite.nodes and node.op == "call_function"}
    nodes |= {user for node in nodes if not isinstance(node.meta.get("val"), torch.Tensor) for user in node.users}
    pending = list(nodes)
    while pending:
        for source in pending.pop().all_input_nodes:
            if source not in nodes and source.op == "call_function" and of_parameters(source):
                nodes.add(source)
                pending.append(source)
    return {node: None for node in graph.graph.nodes if node in nodes}.keys()


class _Looking(Interpreter):
    """Runs a graph and remembers what is known of some results."""

    def __init__(self, graph: GraphModule, wanted: Sequence[Node]) -> None:
        super().__init__(graph)
        self._wanted = dict.fromkeys(wanted)
        self._seen: dict[Node, Values] = {}

    def values(self, inputs: Sequence[Any]) -> dict[Node, Values]:
        """After one run on these inputs."""
        with torch.no_grad():
            self.run(*inputs)
        return self._seen

    def run_node(self, n: Node) -> Any:
        """As ever, with a look at the result."""
        result = super().run_node(n)
        if n in self._wanted:
            if not isinstance(result, torch.Tensor):
                raise NotSupported("something around it is no tensor")
            self._seen[n] = values_of(result)
        return result
