"""What each placeholder of a captured graph stands for: a parameter, a buffer or an input, and its path.

Dynamo lifts parameters and buffers to graph inputs, so nothing in the ATen graph itself tells them apart. The road
writes ``meta["strop_role"] = (role, path)`` and ``meta["strop_static"]`` on every placeholder; everything downstream
reads only that.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import keystr, tree_flatten_with_path

from strop.records.graph import Role

ROLE = "strop_role"
STATIC = "strop_static"

_LOCAL = re.compile(r"L\['([^']+)'\]")
_SUBMODULE = re.compile(r"\._modules\['([^']+)'\]")
_OWNED = re.compile(r"(.*)\._(parameters|buffers)\['([^']+)'\]\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One input of a captured graph; ``static``: its address hardly ever changes; ``mutated``: it is written to."""

    name: str
    role: Role
    path: str
    static: bool
    mutated: bool


def origins(
    module: GraphModule, example_inputs: Sequence[Any], owner: torch.nn.Module | None
) -> list[tuple[Role, str]]:
    """Role and path of every placeholder of a Dynamo graph, in order.

    With ``owner`` the names are its own fully qualified names, found by the identity of the tensors: after a graph
    break in a submodule Dynamo's source names are relative to that submodule. Without it, they are read from the
    source names.
    """
    named = _names_by_identity(owner) if owner is not None else {}
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    return [
        named.get(id(value)) or _from_source(node) for node, value in zip(placeholders, example_inputs, strict=True)
    ]


def _names_by_identity(owner: torch.nn.Module) -> dict[int, tuple[Role, str]]:
    named = {id(buffer): (Role.BUFFER, name) for name, buffer in owner.named_buffers()}
    return named | {id(parameter): (Role.PARAMETER, name) for name, parameter in owner.named_parameters()}


def _from_source(node: Node) -> tuple[Role, str]:
    source = getattr(node.meta.get("grapharg"), "source", None)
    return role_of_source(getattr(source, "name", None) or node.name)


def role_of_source(name: str) -> tuple[Role, str]:
    """Read one of Dynamo's source names, such as ``L['self']._modules['fc']._parameters['weight']``."""
    owned = _OWNED.match(name)
    if owned is None:
        return Role.INPUT, _SUBMODULE.sub(r".\1", _LOCAL.sub(r"\1", name, count=1))
    prefix = _SUBMODULE.sub(r".\1", _LOCAL.sub("", owned.group(1), count=1)).strip(".")
    role = Role.PARAMETER if owned.group(2) == "parameters" else Role.BUFFER
    return role, ".".join(part for part in (prefix, owned.group(3)) if part)


def label(module: GraphModule, known: Sequence[tuple[Role, str]], static: Sequence[int]) -> None:
    """Write role, path and staticness on the placeholders; ``known`` are the inputs of the Dynamo graph before them."""
    for position, node in enumerate(_placeholder_nodes(module)):
        node.meta[ROLE] = _origin_of(node, position, known)
        node.meta[STATIC] = position in static


def _origin_of(node: Node, position: int, known: Sequence[tuple[Role, str]]) -> tuple[Role, str]:
    """AOTAutograd may drop duplicates or put a base in place of aliases; its descriptor says which input it was."""
    descriptor = node.meta.get("desc")
    return known[position] if descriptor is None else _described(descriptor, known)


def _described(descriptor: Any, known: Sequence[tuple[Role, str]]) -> tuple[Role, str]:
    target, index = getattr(descriptor, "target", None), getattr(descriptor, "idx", None)
    if isinstance(target, str):
        return (Role.BUFFER if "Buffer" in type(descriptor).__name__ else Role.PARAMETER), target
    base = getattr(descriptor, "base", None) or getattr(descriptor, "base_of", None)
    if base is not None:
        # A piece of a tensor subclass, or the memory behind inputs that overlap.
        role, path = _described(base, known)
        return role, f"{path}.{getattr(descriptor, 'attr', None) or 'base'}"
    return known[index] if isinstance(index, int) and index < len(known) else (Role.INPUT, str(descriptor))


def input_paths(owner: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[int, str]:
    """For every tensor among the arguments, by its ``id``, how a person would write it: ``x``, ``d['k'][0]``."""
    try:
        bound = inspect.signature(owner.forward).bind(*args, **kwargs).arguments
    except TypeError:
        # The call will fail with the module's own message, which is better than one of ours.
        return {}
    flat, _ = tree_flatten_with_path(dict(bound))
    paths: dict[int, str] = {}
    for keys, value in flat:
        if isinstance(value, torch.Tensor):
            name, rest = keys[0], keys[1:]
            paths.setdefault(id(value), f"{getattr(name, 'key', name)}{keystr(rest)}")
    return paths


def name_inputs(module: GraphModule, given: Sequence[Any], paths: Mapping[int, str]) -> None:
    """Give the inputs of a labelled graph the caller's own names, once it is known with which tensors it is called."""
    for node, value in zip(_placeholder_nodes(module), given, strict=True):
        role, _ = node.meta[ROLE]
        if role is Role.INPUT and id(value) in paths:
            node.meta[ROLE] = (role, paths[id(value)])


def placeholders(module: GraphModule) -> tuple[Placeholder, ...]:
    """The labelled placeholders of a captured graph, in calling order."""
    return tuple(_placeholder(node) for node in _placeholder_nodes(module))


def _placeholder(node: Node) -> Placeholder:
    role, path = node.meta[ROLE]
    return Placeholder(node.name, role, path, bool(node.meta.get(STATIC)), is_mutated(node))


def is_mutated(placeholder: Node) -> bool:
    """True when the graph writes to this input (a running average, a key-value cache, an in-place argument)."""
    return any(
        user.op == "call_function" and user.target is torch.ops.aten.copy_.default and user.args[0] is placeholder
        for user in placeholder.users
    )


def _placeholder_nodes(module: GraphModule) -> list[Node]:
    return [node for node in module.graph.nodes if node.op == "placeholder"]
