"""Spans of memory as tensors, the same on both sides of the wall and in every kind of memory."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from strop.records.tensor import DType, TensorSpec
from strop.wire.layout import Layout, extent_bytes

Tensors = dict[str, torch.Tensor]
"""Tensors by the path of their leaf."""

_FROM_TORCH: dict[torch.dtype, DType] = {getattr(torch, kind.value): kind for kind in DType}
_TO_TORCH = {kind: dtype for dtype, kind in _FROM_TORCH.items()}


def torch_dtype(kind: DType) -> torch.dtype:
    """The element type as torch knows it."""
    return _TO_TORCH[kind]


def known_dtype(dtype: torch.dtype) -> DType | None:
    """The element type as records know it; None for one that they do not."""
    return _FROM_TORCH.get(dtype)


def sizes(tensor: TensorSpec) -> list[int]:
    """The shape as numbers; a symbolic dimension counts with its lower bound."""
    return [dim if isinstance(dim, int) else dim.low for dim in tensor.shape]


def steps(tensor: TensorSpec) -> list[int] | None:
    """The strides as numbers, in elements; None means contiguous."""
    return None if tensor.stride is None else [step if isinstance(step, int) else step.low for step in tensor.stride]


def shaped(flat: torch.Tensor, tensor: TensorSpec) -> torch.Tensor:
    """Elements that lie one after another, seen with the shape and strides of the spec."""
    stride = steps(tensor)
    return flat.view(sizes(tensor)) if stride is None else flat.as_strided(sizes(tensor), stride, flat.storage_offset())


def view(memory: torch.Tensor, tensor: TensorSpec, offset_bytes: int) -> torch.Tensor:
    """The tensor at ``offset_bytes`` of ``memory`` (bytes, one dimension), sharing it; shape and strides as in the
    spec.
    """
    extent = extent_bytes(tensor)
    if extent == 0:
        return torch.empty(sizes(tensor), dtype=torch_dtype(tensor.dtype), device=memory.device)
    return shaped(memory[offset_bytes : offset_bytes + extent].view(torch_dtype(tensor.dtype)), tensor)


def views(memory: torch.Tensor, layout: Layout, slot: int | None) -> Tensors:
    """All tensors of a slot (None: the fixed ones) by path."""
    return {span.path: view(memory, span.tensor, start) for span, start in layout.placed(slot)}


def copied(tensors: Mapping[str, torch.Tensor]) -> Tensors:
    """Private copies, byte for byte."""
    return {path: _plain(each).clone().view(each.dtype) for path, each in tensors.items()}


def real(values: torch.Tensor) -> torch.Tensor:
    """The same numbers without complex ones: those become a trailing axis of two."""
    return torch.view_as_real(values) if values.is_complex() else values


def bits(values: torch.Tensor) -> torch.Tensor:
    """The bytes of the values as integers of the elements' width, one dimension; 16-byte elements as pairs of 8."""
    flat = _plain(values).reshape(-1).contiguous()
    return flat.view(_INTEGERS[min(flat.element_size(), 8)]) if flat.numel() else flat.to(torch.uint8)


def _plain(values: torch.Tensor) -> torch.Tensor:
    """Booleans as their bytes: a copy of booleans would turn every byte that is not 0 into 1."""
    return values.view(torch.uint8) if values.dtype is torch.bool else values


_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equality of bytes, NaN payloads and the sign of zero included."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return torch.equal(bits(one.detach()), bits(other.detach()))
