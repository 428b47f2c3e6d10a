"""Arguments and results as named tensors: taken apart into paths such as ``args[0]``, ``kwargs['mask']``,
``out.logits``, and put together again around other tensors.

Containers are lists, tuples, named tuples, mappings (transformers' ModelOutput among them), dataclasses, everything
that is registered with torch's pytrees, and plain objects that keep tensors in their attributes (caches). Containers
are always built anew, so that a call that changes its cache changes nothing for the next call.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

Build = Callable[[Sequence[torch.Tensor]], Any]

MAX_DEPTH = 24
TEXT_CHARS = 2000
_ATOMS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    enum.Enum,
    range,
    slice,
    type,
    torch.Size,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    torch.Generator,
    torch.nn.Module,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
)


@dataclass(frozen=True, slots=True)
class Tree:
    """A value without its tensors: their paths in order, how to build it anew, and its structure as text."""

    paths: tuple[str, ...]
    build: Build
    text: str


@dataclass(slots=True)
class _Walk:
    paths: list[str] = field(default_factory=list)
    tensors: list[torch.Tensor] = field(default_factory=list)
    open: set[int] = field(default_factory=set)

    def visit(self, value: Any, path: str) -> tuple[Build, str]:
        """How to build this value, and its text; notes every tensor on the way."""
        if isinstance(value, torch.Tensor):
            index = len(self.tensors)
            self.paths.append(path)
            self.tensors.append(value)
            return (lambda given: given[index]), "*"
        if isinstance(value, _ATOMS) or id(value) in self.open or len(self.open) >= MAX_DEPTH:
            return (lambda _: value), _short(value)
        self.open.add(id(value))
        try:
            return self._container(value, path)
        finally:
            self.open.discard(id(value))

    def _container(self, value: Any, path: str) -> tuple[Build, str]:
        if isinstance(value, list | tuple):
            return self._sequence(value, path)
        if isinstance(value, Mapping) and hasattr(value, "__setitem__"):
            return self._mapping(value, path)
        if type(value) in pytree.SUPPORTED_NODES:
            return self._registered(value, path)
        fields = _attributes(value)
        if fields is None:
            return (lambda _: value), _short(value)
        return self._object(value, fields, path)

    def _sequence(self, value: Any, path: str) -> tuple[Build, str]:
        kind = type(value)
        names = getattr(value, "_fields", None)
        places = [f"{path}.{name}" for name in names] if names else [f"{path}[{i}]" for i in range(len(value))]
        parts = [self.visit(item, place) for item, place in zip(value, places, strict=True)]
        builds, texts = [build for build, _ in parts], ", ".join(text for _, text in parts)
        if names:
            return (lambda given: kind(*(build(given) for build in builds))), f"{kind.__name__}({texts})"
        if isinstance(value, list):
            return (lambda given: [build(given) for build in builds]), f"[{texts}]"
        return (lambda given: tuple(build(given) for build in builds)), f"({texts})"

    def _mapping(self, value: Any, path: str) -> tuple[Build, str]:
        attributes = dataclasses.is_dataclass(value)
        parts: dict[Any, Build] = {}
        texts: list[str] = []
        for key, item in value.items():
            build, text = self.visit(item, f"{path}.{key}" if attributes else f"{path}[{key!r}]")
            parts[key] = build
            texts.append(f"{key}={text}")
        inner = ", ".join(texts)
        if type(value) is dict:
            return (lambda given: {key: build(given) for key, build in parts.items()}), f"{{{inner}}}"

        def rebuild(given: Sequence[torch.Tensor]) -> Any:
            new = copy.copy(value)
            for key, build in parts.items():
                new[key] = build(given)
            return new

        return rebuild, f"{type(value).__name__}({inner})"

    def _registered(self, value: Any, path: str) -> tuple[Build, str]:
        node = pytree.SUPPORTED_NODES[type(value)]
        children, context = node.flatten_fn(value)
        parts = [self.visit(child, f"{path}[{i}]") for i, child in enumerate(children)]
        builds = [build for build, _ in parts]
        text = ", ".join(text for _, text in parts)
        return (lambda given: node.unflatten_fn([build(given) for build in builds], context)), (
            f"{type(value).__name__}({text})"
        )

    def _object(self, value: Any, fields: Mapping[str, Any], path: str) -> tuple[Build, str]:
        kind = type(value)
        before = len(self.tensors)
        parts: dict[str, Build] = {}
        texts: list[str] = []
        for name, item in fields.items():
            count = len(self.tensors)
            parts[name], text = self.visit(item, f"{path}.{name}")
            if len(self.tensors) > count:
                texts.append(f"{name}={text}")

        def rebuild(given: Sequence[torch.Tensor]) -> Any:
            new = object.__new__(kind)
            for name, build in parts.items():
                object.__setattr__(new, name, build(given))
            return new

        text = f"{kind.__name__}({', '.join(texts)})" if len(self.tensors) > before else kind.__name__
        return rebuild, text


def _attributes(value: Any) -> Mapping[str, Any] | None:
    """What an object consists of; None for objects that are passed on as they are."""
    if callable(value) or type(value).__name__.endswith("Config"):
        return None
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if hasattr(value, each.name)}
    found = getattr(value, "__dict__", None)
    return dict(found) if isinstance(found, dict) and type(value).__new__ is object.__new__ else None


def _short(value: Any) -> str:
    if isinstance(value, bool | int | float | str | None):
        return repr(value)[:40]
    return type(value).__name__


def flatten(value: Any, root: str) -> tuple[Tree, list[torch.Tensor]]:
    """Take a value apart; ``root`` is the path of the value itself."""
    walk = _Walk()
    build, text = walk.visit(value, root)
    return Tree(paths=tuple(walk.paths), build=build, text=text[:TEXT_CHARS]), walk.tensors


def tensors_in(value: Any, root: str) -> dict[str, torch.Tensor]:
    """The tensors of a value by path."""
    if type(value) is torch.Tensor:
        return {root: value}
    walk = _Walk()
    walk.visit(value, root)
    return dict(zip(walk.paths, walk.tensors, strict=True))


@dataclass(frozen=True, slots=True)
class Call:
    """What a module is called with."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallShape:
    """A call without its tensors. ``reusable`` means that it holds no container that a call could change."""

    paths: tuple[str, ...]
    reusable: bool
    _args: Build
    _kwargs: Build

    def build(self, tensors: Mapping[str, torch.Tensor]) -> Call:
        """The call around these tensors, its containers fresh."""
        given = [tensors[path] for path in self.paths]
        return Call(self._args(given), self._kwargs(given))


def flatten_call(call: Call) -> tuple[CallShape, dict[str, torch.Tensor]]:
    """Take a call apart: positional arguments as ``args[i]``, others as ``kwargs['name']``."""
    walk = _Walk()
    args, _ = walk.visit(tuple(call.args), "args")
    kwargs, _ = walk.visit(dict(call.kwargs), "kwargs")
    direct = [*call.args, *call.kwargs.values()]
    reusable = all(isinstance(each, (torch.Tensor, *_ATOMS)) for each in direct)
    shape = CallShape(paths=tuple(walk.paths), reusable=reusable, _args=args, _kwargs=kwargs)
    return shape, dict(zip(walk.paths, walk.tensors, strict=True))


def left_behind(call: Call, shape: CallShape, given: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What a call put into the containers among its arguments, by path: tensors where it was given none, or another.

    A cache that grows is changed like this; what is written into a given tensor in place is not among them.
    """
    if shape.reusable:
        return {}
    now = flatten_call(call)[1]
    return {path: tensor for path, tensor in now.items() if tensor is not given.get(path)}


def is_left_behind(path: str) -> bool:
    """Whether an output lies in an argument instead of the result."""
    return path.startswith(("args", "kwargs"))
