"""The record of a captured graph: its nodes as text, placeholders by first use, and an id of the graph alone.

The id hashes node names, operators, arguments, shapes, layouts, roles and the decomposition table's version. It
leaves out whatever belongs to one process or one model: addresses, object ids, paths of files, stack traces, names of
parameters.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_any

from strop.capture.dialect import DECOMPOSITIONS_VERSION, placeholders_by_use
from strop.capture.placeholders import ROLE
from strop.capture.specs import Symbols, tensor_specs
from strop.records.graph import CapturedGraph, GraphNode, Role
from strop.records.ids import content_id

_OUR_OWN = re.compile(r"L\['[^']+'\]\.?|_modules\['([^']+)'\]\.?")
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")


def graph_record(module: GraphModule) -> CapturedGraph:
    """Describe a captured graph. The id of a rewritten graph is another one, unless the rewrite changed nothing."""
    symbols = Symbols()
    ordered = [*placeholders_by_use(module), *(node for node in module.graph.nodes if node.op != "placeholder")]
    nodes = tuple(_node_record(node, module, symbols) for node in ordered)
    keys = [(node.name, node.op, node.target, node.inputs, node.arguments, node.outputs, node.role) for node in nodes]
    structure = [_structure(node) for node in ordered]
    identity = content_id("g", DECOMPOSITIONS_VERSION, keys, structure)
    return CapturedGraph(id=identity, nodes=nodes, decompositions_version=DECOMPOSITIONS_VERSION)


def _node_record(node: Node, module: GraphModule, symbols: Symbols) -> GraphNode:
    role, path = node.meta.get(ROLE, (None, "")) if node.op == "placeholder" else (None, "")
    outputs = () if node.op == "output" else tensor_specs(node.meta.get("val"), symbols)
    return GraphNode(
        name=node.name,
        op=node.op,
        target=target_text(node, module),
        inputs=tuple(source.name for source in node.all_input_nodes),
        arguments=_arguments(node, symbols),
        outputs=outputs,
        role=Role(role) if role is not None else None,
        path=path,
        module_path=_module_path(node),
    )


def target_text(node: Node, module: GraphModule) -> str:
    """The operator as text; a constant of the graph is named by its contents, a subgraph by its own id."""
    if node.op == "get_attr":
        return _constant_text(_attribute(module, str(node.target)))
    if node.op in ("placeholder", "output"):
        return ""
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    return getattr(node.target, "__name__", None) or _ADDRESS.sub("", str(node.target))


def _attribute(module: torch.nn.Module, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _constant_text(value: Any) -> str:
    if isinstance(value, GraphModule):
        return graph_record(value).id
    if isinstance(value, torch.Tensor):
        # Graphs are recorded while they are compiled, when a fake mode is on that would refuse to look at real
        # contents.
        with unset_fake_temporarily():
            contents = value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
        digest = hashlib.sha256(contents).hexdigest()[:16]
        return f"constant-{str(value.dtype).removeprefix('torch.')}-{list(value.shape)}-{digest}"
    return type(value).__qualname__


def _arguments(node: Node, symbols: Symbols) -> tuple[str, ...]:
    """Every argument that is not simply a node, under the name that the operator's schema gives it."""
    if node.op != "call_function":
        return ()
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    positional = [(names[i] if i < len(names) else str(i), value) for i, value in enumerate(node.args)]
    given = [*positional, *node.kwargs.items()]
    return tuple(f"{name}={value_text(value, symbols)}" for name, value in given if not _is_nodes(value))


def _is_nodes(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(item, Node) for item in value)
    return isinstance(value, Node)


def _structure(node: Node) -> list[str]:
    """How the arguments are nested, which the record leaves to its reader: `add(x, y)` from `cat([x, y])`."""
    symbols = Symbols()
    given = [*enumerate(node.args), *sorted(node.kwargs.items())]
    return [f"{name}={value_text(value, symbols)}" for name, value in given if tree_any(_is_node, value)]


def _is_node(value: Any) -> bool:
    return isinstance(value, Node)


def value_text(value: Any, symbols: Symbols) -> str:
    """One argument as text: nodes as ``%name``, the rest as Python would write it, never with an address."""
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, torch.SymInt):
        return symbols.text(value)
    if isinstance(value, torch.device):
        return value.type
    if isinstance(value, str | bool | int | float | complex | None):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {value_text(item, symbols)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(value_text(item, symbols) for item in value) + "]"
    if isinstance(value, slice):
        return f"slice({', '.join(value_text(part, symbols) for part in (value.start, value.stop, value.step))})"
    return _ADDRESS.sub("", str(value))


def _module_path(node: Node) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    paths = [entry[0] for entry in stack.values() if isinstance(entry, tuple)]
    if not paths:
        return ""
    return _OUR_OWN.sub(lambda found: f"{found.group(1)}." if found.group(1) else "", paths[-1]).strip(".")
