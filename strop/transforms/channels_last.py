"""One layout for a whole graph of convolutions: channels innermost, weights laid out once, nothing copied back in
between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node

from strop.records.opportunity import Legality
from strop.records.recipe import Scalar, Step
from strop.records.target import Target
from strop.transforms._base import Example, Rewrite, Transform
from strop.transforms._estimate import memory_ns, size_bytes
from strop.transforms._graph import (
    Builder,
    aten,
    calls,
    fake_mode,
    geometry,
    of_parameters,
    shape_of,
    spread,
    tensor,
    yields,
)

CONVOLUTION = aten.convolution.default
LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    layers = (torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, padding=1))
    return torch.nn.Sequential(*layers), (torch.randn(2, 16, 14, 14),)


class ChannelsLast(Transform):
    """See the class variables."""

    name: ClassVar[str] = "channels_last"
    summary: ClassVar[str] = "channels innermost for all convolutions of the graph, weights laid out once per delivery"
    legality: ClassVar[tuple[Legality, ...]] = (Legality.REASSOCIATED, Legality.PARAMETERS_FROZEN)
    applies_when: ClassVar[str] = (
        "the graph has 2d or 3d convolutions (transposed ones included) whose weights are parameters, and an input or"
        " a weight of one of them does not lie channels-last"
    )
    valid_because: ClassVar[str] = (
        "A layout is where elements lie, not what they are: torch documents that memory_format changes strides alone. "
        "The library may choose another algorithm for it, so sums can be rounded in another order."
    )
    pays_when: ClassVar[str] = (
        "the library's convolutions want channels innermost: otherwise each call lays out its weights anew, and each "
        "convolution may copy its input and its result"
    )
    example: ClassVar[Example] = Example(build=_example, says="Two convolutions with an activation in between.")

    def applications(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """One rewrite for the whole graph: layouts pay together or not at all."""
        sites = [node for node in calls(graph, CONVOLUTION) if _misplaced(node)]
        if sites:
            yield Rewrite(
                step=Step(self.name),
                nodes=tuple(node.name for node in sites),
                gain_ns=_gain_ns(sites, target),
                apply=partial(_apply, graph),
            )

    def why_not(self, graph: GraphModule, target: Target) -> str:
        """What is missing."""
        convolutions = list(calls(graph, CONVOLUTION))
        if not convolutions:
            return "The graph has no convolution."
        if not any(_plannable(node) for node in convolutions):
            return (
                "Its convolutions are one-dimensional, or their weights are not parameters and cannot be laid out once."
            )
        return "All convolutions already have inputs and weights that lie channels-last."


def _plannable(node: Node) -> bool:
    """A 2d or 3d convolution whose weights are parameters."""
    weight, source = shape_of(node.args[1]), tensor(node.args[0])
    return (
        weight is not None
        and source is not None
        and source.dim() == len(weight) in LAYOUTS
        and of_parameters(node.args[1])
    )


def _misplaced(node: Node) -> bool:
    return _plannable(node) and not (_lies_well(node.args[0]) and _lies_well(node.args[1]))


def _lies_well(node: Any) -> bool:
    """Whether elements lie as channels-last has them; with one channel or one place, that is also the contiguous
    order.
    """
    value = tensor(node)
    return value is not None and value.dim() in LAYOUTS and value.is_contiguous(memory_format=LAYOUTS[value.dim()])


def _gain_ns(sites: Sequence[Node], target: Target) -> float:
    """Weights are laid out on every call without it; the head of a chain and its end cost a copy each."""
    weights = sum(size_bytes(tensor(node.args[1])) for node in sites if not _lies_well(node.args[1]))
    heads = {source for node in sites for source in node.all_input_nodes[:1] if not _follows(source)}
    copied = sum(size_bytes(tensor(head)) for head in heads)
    return memory_ns(2 * weights, target) - memory_ns(2 * copied, target)


def _follows(source: Any, depth: int = 64) -> bool:
    """Whether a convolution's input comes from another one through operations that keep the layout."""
    while isinstance(source, Node) and source.op == "call_function" and depth > 0:
        if source.target is CONVOLUTION:
            return True
        if not source.all_input_nodes or source.target in (aten.view.default, aten.permute.default):
            return False
        source, depth = source.all_input_nodes[0], depth - 1
    return False


def _apply(graph: GraphModule) -> None:
    """In execution order, so that each convolution sees the layout that the ones before it made."""
    laid_out: dict[tuple[Node, bool], Node] = {}
    for node in calls(graph, CONVOLUTION):
        if _plannable(node):
            add, before = Builder(graph.graph, node), geometry(node)
            source = _laid_out(node.args[0], False, add, laid_out)
            weight = _laid_out(node.args[1], True, add, laid_out)
            node.args = (source, weight, *node.args[2:])
            node.meta["val"] = yields(node.target, node.args, node.kwargs, fake_mode(graph.graph))
            if geometry(node) != before:
                spread(graph.graph, {node})


def _laid_out(node: Any, frozen: bool, add: Builder, known: dict[tuple[Node, bool], Node]) -> Node:
    if _lies_well(node):
        return node
    if (node, frozen) not in known:
        value = tensor(node)
        assert value is not None  # noqa: S101 - _plannable saw it
        make = add.weight(frozen)
        known[node, frozen] = make(aten.clone.default, node, memory_format=LAYOUTS[value.dim()])
    return known[node, frozen]


ITEM = ChannelsLast()
