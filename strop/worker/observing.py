"""Compiling what is loaded once more, under observation: graphs are kept, and kernels say where they came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch.fx import GraphModule

from strop.capture import graph_record
from strop.lowering import LoweringOptions, lower
from strop.lowering.lower import Lowered, Rewrite


@dataclass(slots=True)
class Observed:
    """A lowered module before its first call; ``graphs`` fills up when it compiles: what was compiled, by captured
    id.
    """

    lowered: Lowered
    graphs: dict[str, GraphModule] = field(default_factory=dict)


def observe(module: torch.nn.Module, rewrite: Rewrite, options: LoweringOptions) -> Observed:
    """Lower a fresh module so that its compilation can be looked at."""
    graphs: dict[str, GraphModule] = {}

    def kept(graph: GraphModule) -> GraphModule:
        before = graph_record(graph).id
        graphs[before] = rewrite(graph)
        return graphs[before]

    return Observed(lower(module, kept, replace(options, observe=True)), graphs)
