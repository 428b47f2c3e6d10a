"""From fake tensors to tensor records: shapes with symbols, element type, layout, kind of device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from strop.errors import NotSupported
from strop.records.tensor import Dim, DType, Symbol, TensorSpec

_KNOWN = {str(each.value) for each in DType}


class Symbols:
    """Gives every symbolic size of one graph a name by order of appearance, so that names do not depend on Dynamo's."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def text(self, size: int | torch.SymInt) -> str:
        """The size as text, with the graph's own symbol names."""
        if isinstance(size, int):
            return str(size)
        expression = size.node.expr
        renamed = {symbol: self._name(str(symbol)) for symbol in sorted(expression.free_symbols, key=str)}
        return str(expression.subs({old: type(old)(new) for old, new in renamed.items()}))

    def dim(self, size: int | torch.SymInt) -> Dim:
        """The size as a record: a number, or a symbol with the range that Dynamo promises."""
        if isinstance(size, int):
            return size
        low, high = _bounds(size)
        return Symbol(name=self.text(size), low=low, high=high)

    def _name(self, symbol: str) -> str:
        return self._names.setdefault(symbol, f"n{len(self._names)}")


def _bounds(size: torch.SymInt) -> tuple[int, int | None]:
    ranges = size.node.shape_env.bound_sympy(size.node.expr)
    low = int(ranges.lower) if ranges.lower.is_finite else 0
    # Dynamo's "unbounded" is a huge integer or an infinity of its own, depending on the version.
    high = int(ranges.upper) if ranges.upper.is_finite and ranges.upper < 2**62 else None
    return low, high


def tensor_spec(tensor: torch.Tensor, symbols: Symbols) -> TensorSpec:
    """Describe one tensor; the device is its kind alone, so that records do not depend on a device's number."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _KNOWN:
        raise NotSupported(f"Tensors of type {name} cannot be recorded yet; known are {', '.join(DType)}.")
    if tensor.layout is not torch.strided:
        raise NotSupported(f"Tensors of layout {tensor.layout} cannot be recorded yet; make them dense first.")
    shape = tuple(symbols.dim(size) for size in tensor.shape)
    stride = None if _is_contiguous(tensor) else tuple(symbols.dim(step) for step in tensor.stride())
    return TensorSpec(shape=shape, dtype=DType(name), stride=stride, device=tensor.device.type)


def tensor_specs(value: Any, symbols: Symbols) -> tuple[TensorSpec, ...]:
    """Describe every tensor of a node's result, which may be one tensor, a tuple of them, or no tensor at all."""
    return tuple(tensor_spec(leaf, symbols) for leaf in _tensors(tree_leaves(value)))


def _tensors(leaves: Iterable[Any]) -> list[torch.Tensor]:
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _is_contiguous(tensor: torch.Tensor) -> bool:
    """Contiguity decided on the text of sizes, because asking a fake tensor with symbols would add guards."""
    return [str(step) for step in tensor.stride()] == [str(step) for step in _dense_strides(tensor.shape)]


def _dense_strides(shape: Sequence[Any]) -> list[Any]:
    strides: list[Any] = []
    step: Any = 1
    for size in reversed(shape):
        strides.insert(0, step)
        # An empty dimension leaves the others' strides as they are.
        step = step if isinstance(size, int) and size == 0 else step * size
    return strides
