"""From Strop's dialect to Inductor's: settle a rewritten graph, then trace it with Inductor's decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.fx.traceback import preserve_node_meta

from strop.errors import BadCandidate
from strop.lowering.torch_shims import inductor_decompositions

_aten = torch.ops.aten


def settle(module: GraphModule) -> GraphModule:
    """After a rewrite: drop dead nodes, check the graph, and give every node the fake tensors that it now yields."""
    module.graph.eliminate_dead_code()
    module.graph.lint()
    module.recompile()
    refresh_metadata(module)
    return module


def refresh_metadata(module: GraphModule) -> None:
    """Recompute ``meta["val"]`` of every node from the placeholders' own."""
    inputs = fake_inputs(module)
    FakeTensorProp(module, fake_mode_of(inputs)).propagate_dont_convert_inputs(*inputs)


def fake_inputs(module: GraphModule) -> list[Any]:
    """The fake tensors and symbolic integers of a graph's placeholders."""
    return [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]


def fake_mode_of(inputs: Sequence[Any]) -> FakeTensorMode:
    """The mode that made the fake tensors, which all work on the graph has to share."""
    return detect_fake_mode(list(inputs)) or FakeTensorMode(allow_non_fake_inputs=True)


def output_values(module: GraphModule) -> list[Any]:
    """The fake results of a graph, numbers and None included."""
    results = module.graph.output_node().args[0]
    listed = results if isinstance(results, list | tuple) else [results]
    return [value.meta.get("val") if isinstance(value, Node) else value for value in listed]


def keep_promises(module: GraphModule, before: Sequence[Any]) -> None:
    """Hold a rewritten graph to the outputs of the captured one: number, shapes, types; strides are put right here.

    Raises:
        BadCandidate: when the rewrite changed what the graph returns.
    """
    after = output_values(module)
    if len(after) != len(before):
        raise BadCandidate(f"The rewritten graph returns {len(after)} values, the captured one {len(before)}.")
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
            _keep_promise(module, index, old, new)


def _keep_promise(module: GraphModule, index: int, old: torch.Tensor, new: torch.Tensor) -> None:
    if (_text(old.shape), old.dtype, old.device) != (_text(new.shape), new.dtype, new.device):
        raise BadCandidate(
            f"Output {index} was {old.dtype}{_text(old.shape)} on {old.device}; after the rewrite it is "
            f"{new.dtype}{_text(new.shape)} on {new.device}. A rewrite must leave outputs as they were."
        )
    if _text(old.stride()) != _text(new.stride()):
        _restride(module, index, old)


def _restride(module: GraphModule, index: int, old: torch.Tensor) -> None:
    """Copy one output into the layout that the code behind expects; Inductor fuses the copy where it can."""
    graph = module.graph
    output = graph.output_node()
    results: list[Any] = list(cast("Sequence[Any]", output.args[0]))
    strides = [_concrete(step) for step in old.stride()]
    sizes = [_concrete(size) for size in old.shape]
    with graph.inserting_before(output):
        place = graph.call_function(
            _aten.empty_strided.default, (sizes, strides), {"dtype": old.dtype, "device": old.device}
        )
        results[index] = graph.call_function(_aten.copy.default, (place, results[index]))
    output.args = (tuple(results),)
    settle(module)


def _concrete(size: int | torch.SymInt) -> int:
    if isinstance(size, int):
        return size
    raise BadCandidate(
        "A rewrite changed the layout of an output with symbolic sizes; keep its layout, or make it contiguous."
    )


def _text(sizes: Sequence[Any]) -> list[str]:
    return [str(size) for size in sizes]


def retrace(module: GraphModule) -> GraphModule:
    """Trace a settled graph with Inductor's decompositions; ``from_node`` remembers which node each came from."""
    inputs = fake_inputs(module)
    for node in module.graph.nodes:
        node.meta.pop("from_node", None)

    def replay(*args: Any) -> Any:
        with preserve_node_meta():
            return torch.fx.Interpreter(module).run(*args)

    with fake_mode_of(inputs), enable_python_dispatcher(), torch.no_grad():
        traced = make_fx(replay, decomposition_table=inductor_decompositions(), _allow_non_fake_inputs=True)(*inputs)
    traced.graph.eliminate_dead_code()
    traced.recompile()
    return traced


def origin_names(traced: GraphModule) -> dict[str, str]:
    """For each node of a retraced graph the name of the node of the settled graph that it came from."""
    return {node.name: _first_origin(node) for node in traced.graph.nodes if node.op == "call_function"}


def _first_origin(node: Node) -> str:
    sources = node.meta.get("from_node") or ()
    return sources[0].name if sources else node.name
