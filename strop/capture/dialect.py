"""The graph dialect of the one road: which operators are taken apart, and the small clean-up that follows.

AOTAutograd with an empty table already leaves what transforms want to see whole: ``convolution``, ``addmm``, ``mm``,
``bmm``, ``_native_batch_norm_legit_functional``, ``native_layer_norm``, ``native_group_norm``, the pools,
``_softmax``, ``gelu``, ``native_dropout``, the losses, fused attention. The table below only removes *synonyms*, so
that one pattern finds all writings of one thing; Inductor's own decompositions run later, at lowering, and take the
rest apart exactly as ``torch.compile`` would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import get_decompositions
from torch.fx import Graph, GraphModule, Node

DECOMPOSITIONS_VERSION = 1
"""Part of every key. Raise it whenever the table or the clean-up changes what a graph looks like."""

_aten = torch.ops.aten

SYNONYMS: dict[str, tuple[str, ...]] = {
    "permute is the only way to reorder dimensions": ("t", "transpose.int"),
    "view is the only way to regroup dimensions": ("_unsafe_view", "_reshape_alias"),
    "one batch norm per mode, whatever the device's library": (
        "native_batch_norm",
        "cudnn_batch_norm",
        "miopen_batch_norm",
    ),
    "no autograd leftovers in an inference graph": ("detach", "lift"),
    "one writing of subtraction, stacking and ReLU6": ("rsub.Scalar", "rsub.Tensor", "stack", "relu6"),
}
"""Why an operator is taken apart, and which ones; the values are names in ``torch.ops.aten``."""

_VIEWS_THAT_MAY_DO_NOTHING = frozenset(
    {_aten.view.default, _aten.expand.default, _aten.permute.default, _aten.alias.default, _aten.detach.default}
)


def decompositions() -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    """The fixed table that the road hands to AOTAutograd."""
    names = [name for group in SYNONYMS.values() for name in group]
    return get_decompositions([_operator(name) for name in names])


def _operator(name: str) -> Any:
    packet, _, overload = name.partition(".")
    found = getattr(_aten, packet)
    return getattr(found, overload) if overload else found


def canonicalise(module: GraphModule) -> GraphModule:
    """Return the graph without views that do nothing and without dead nodes, its nodes named by operator and order.

    Placeholders are named by their first use: their calling order is the caller's business and differs between a live
    module and its exported program. Names thus depend on the computation alone, never on what tracing threw away, so
    that a recipe's ``at=<node name>`` holds for every graph with the same id.
    """
    for node in list(module.graph.nodes):
        if _does_nothing(node):
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    return _renamed(module)


def _does_nothing(node: Node) -> bool:
    if node.op != "call_function" or node.target not in _VIEWS_THAT_MAY_DO_NOTHING:
        return False
    source = node.args[0]
    # An output must stay a tensor of its own: two outputs, or an output and an input, may not become one object.
    if not isinstance(source, Node) or any(user.op == "output" for user in node.users):
        return False
    before, after = source.meta.get("val"), node.meta.get("val")
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        return False
    # Compared as text, because comparing symbolic sizes would add guards.
    return _geometry(before) == _geometry(after)


def _geometry(tensor: torch.Tensor) -> tuple[list[str], list[str]]:
    return [str(size) for size in tensor.shape], [str(step) for step in tensor.stride()]


def _renamed(module: GraphModule) -> GraphModule:
    graph = Graph()
    copies: dict[Node, Node] = {}
    inputs = {node: f"arg{number}" for number, node in enumerate(placeholders_by_use(module))}
    for node in _in_order(module, list(inputs)):
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda old: copies[old])
        name = inputs.get(node) or _base_name(node)
        copy = graph.create_node(node.op, node.target, args, kwargs, name=name, type_expr=node.type)
        copy.meta = dict(node.meta)
        # Inductor names a kernel's origins by this list; without Dynamo's entries it names nodes of this very graph.
        copy.meta.pop("from_node", None)
        copies[node] = copy
    renamed = GraphModule(module, graph)
    renamed.meta.update(module.meta)
    return renamed


def _in_order(module: GraphModule, inputs: list[Node]) -> list[Node]:
    """The nodes, the writes to inputs that end the graph sorted by input: AOTAutograd emits them in calling order."""
    *body, output = module.graph.nodes
    rank: dict[Any, int] = {node: number for number, node in enumerate(inputs)}
    writes: list[Node] = []
    while body and body[-1].target is _aten.copy_.default and body[-1].args[0] in rank:
        writes.insert(0, body.pop())
    # Two inputs that swap their contents read each other, so their order matters.
    if not any(write.args[1] in rank for write in writes):
        writes.sort(key=lambda write: rank[write.args[0]])
    return [*body, *writes, output]


def placeholders_by_use(module: GraphModule) -> list[Node]:
    """The placeholders in the order in which the computation first reads them; those that it never reads come last."""
    used: dict[Node, None] = {}
    for node in module.graph.nodes:
        used |= {source: None for source in node.all_input_nodes if source.op == "placeholder"}
    return list(used | {node: None for node in module.graph.nodes if node.op == "placeholder"})


def _base_name(node: Node) -> str:
    if node.op == "call_function":
        packet = getattr(node.target, "overloadpacket", node.target)
        return getattr(packet, "__name__", str(packet)).lstrip("_") or "node"
    return "output" if node.op == "output" else "constant"
