"""Bytes of the buffers that a generated C++ or Triton kernel is called with, read from the wrapper and from the
kernel's signature.

A graph node says what an operation needs in principle; the kernel that Inductor made of it may be a part of it only
(a weight brought into another layout, one pass of a softmax). Its arguments say what it can touch at all.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SIGNATURE = re.compile(r'extern\s+"C"[^(;{]*?\bvoid\s+\w+\s*\(([^)]*)\)')
_POINTER = re.compile(r"^(const\s+)?([\w:]+)\s*\*\s*(?:__restrict__\s+)?(\w+)$")
_ITEM_BYTES = {
    **dict.fromkeys(("double", "int64_t", "long", "uint64_t", "c10::complex<float>"), 8),
    **dict.fromkeys(("float", "int32_t", "int", "uint32_t"), 4),
    **dict.fromkeys(("at::BFloat16", "at::Half", "bfloat16", "half", "int16_t", "short", "uint16_t"), 2),
    **dict.fromkeys(("bool", "int8_t", "uint8_t", "signed char", "unsigned char", "char"), 1),
    # What Triton calls them.
    **dict.fromkeys(("fp64", "i64", "u64"), 8),
    **dict.fromkeys(("fp32", "i32", "u32"), 4),
    **dict.fromkeys(("fp16", "bf16", "i16", "u16"), 2),
    **dict.fromkeys(("i1", "i8", "u8", "fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"), 1),
}


def kernel_bytes(wrapper: str, sources: Mapping[str, str]) -> dict[str, list[int | None]]:
    """For each generated kernel by name, the bytes of every call in order: inputs once, outputs once, both for
    in-place.

    Args:
        wrapper: the generated wrapper module. sources: the kernels' texts by name.

    None stands for a call with an argument whose size is not written in the wrapper (symbolic shapes).
    """
    try:
        tree = ast.parse(wrapper)
    except SyntaxError:
        return {}
    sizes: dict[str, int] = {}
    found: dict[str, list[int | None]] = {}
    for statement in _statements(tree):
        _learn(statement, sizes)
        call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        name = _called(call.func) if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and name in sources:
            found.setdefault(name, []).append(_call_bytes(call, _parameters(sources[name]), sizes))
    return found


def _called(function: ast.expr) -> str:
    """The kernel's name in ``cpp_kernel(...)`` and in ``triton_kernel.run(...)``."""
    if isinstance(function, ast.Attribute) and function.attr == "run":
        function = function.value
    return function.id if isinstance(function, ast.Name) else ""


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """All simple statements of all functions, in the order of their lines."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Expr | ast.Assign)]
    return sorted(found, key=lambda node: node.lineno)


def _learn(statement: ast.stmt, sizes: dict[str, int]) -> None:
    """Note how many elements a buffer has, in memory."""
    match statement:
        case ast.Expr(
            value=ast.Call(func=ast.Name(id="assert_size_stride"), args=[ast.Name(id=name), size, stride, *_])
        ):
            _note(name, size, stride, sizes)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=maker), args=[size, stride, *_])):
            if maker.startswith("empty_strided"):
                _note(name, size, stride, sizes)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=old)) if old in sizes:
            sizes[name] = sizes[old]
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
            count = _elements_of(call, sizes)
            if count is not None:
                sizes[name] = count


def _note(name: str, size: ast.expr, stride: ast.expr, sizes: dict[str, int]) -> None:
    count = _stored(size, stride)
    if count is not None:
        sizes[name] = count


def _stored(size: ast.expr, stride: ast.expr) -> int | None:
    shape, steps = _numbers(size), _numbers(stride)
    if shape is None or steps is None or len(shape) != len(steps):
        return None
    return math.prod(dim for dim, step in zip(shape, steps, strict=True) if step != 0)


def _numbers(node: ast.expr) -> Sequence[int] | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, tuple) and all(isinstance(item, int) for item in value) else None


def _elements_of(argument: ast.expr, sizes: Mapping[str, int]) -> int | None:
    match argument:
        case ast.Name(id=name):
            return sizes.get(name)
        case ast.Call(func=ast.Name(id="reinterpret_tensor"), args=[_, size, stride, *_]):
            return _stored(size, stride)
    return None


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One parameter of a kernel; ``item`` is what a pointer points at, empty for a number."""

    name: str
    item: str


def _parameters(source: str) -> list[_Parameter]:
    """The parameters that a call passes, in order; none when the kernel's text is of neither kind."""
    signature = _SIGNATURE.search(source)
    if signature is None:
        return _triton_parameters(source)
    pointers = [(part, _POINTER.match(part)) for part in map(str.strip, signature.group(1).split(","))]
    return [_Parameter(found.group(3), found.group(2)) if found else _Parameter(part, "") for part, found in pointers]


def _triton_parameters(source: str) -> list[_Parameter]:
    """From the signature in the decorator; constants are compiled into the kernel and not passed."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "signature" and isinstance(value, ast.Dict):
                    return [each for each in map(_triton_parameter, value.keys, value.values) if each is not None]
    return []


def _triton_parameter(name: ast.expr | None, kind: ast.expr) -> _Parameter | None:
    if not (isinstance(name, ast.Constant) and isinstance(kind, ast.Constant)) or kind.value == "constexpr":
        return None
    word = str(kind.value)
    return _Parameter(str(name.value), word[1:] if word.startswith("*") else "")


def _call_bytes(call: ast.Call, parameters: Sequence[_Parameter], sizes: Mapping[str, int]) -> int | None:
    if not parameters or len(parameters) != len(call.args):
        return None
    total = 0
    for parameter, argument in zip(parameters, call.args, strict=True):
        if not parameter.item:
            continue
        item, count = _ITEM_BYTES.get(parameter.item), _elements_of(argument, sizes)
        if item is None or count is None:
            return None
        total += count * item * (2 if parameter.name.startswith("in_out") else 1)
    return total
