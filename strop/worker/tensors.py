"""Tensors as records, and questions about their bytes."""

from __future__ import annotations

import torch

from strop.errors import NotSupported
from strop.records.tensor import DType, TensorSpec
from strop.wire.tensors import known_dtype

_WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}

_as_subclass = torch.Tensor.as_subclass

Memory = tuple[int, int]
"""First byte and end of a piece of memory, as addresses."""


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without its class and its attributes, which may answer questions about it as they please."""
    if type(tensor) is torch.Tensor and not vars(tensor):
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        return _as_subclass(tensor, torch.Tensor)


def wide_dtype(dtype: torch.dtype) -> torch.dtype:
    """Double precision for floating types, any other type as it is."""
    return _WIDE.get(dtype, dtype)


def is_inexact(dtype: torch.dtype) -> bool:
    """True for real and complex floating types."""
    return dtype.is_floating_point or dtype.is_complex


def spec_of(tensor: torch.Tensor, path: str) -> TensorSpec:
    """Shape, element type, layout and device.

    Raises:
        NotSupported: sparse, quantised and nested tensors, and element types that have no place in an arena.
    """
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        raise NotSupported(f"{path} is a {_kind(tensor)} tensor; Strop handles dense tensors alone. Make it dense.")
    kind = known_dtype(tensor.dtype)
    if kind is None:
        known = ", ".join(DType)
        raise NotSupported(f"{path} has elements of type {tensor.dtype}; Strop handles {known}. Convert it first.")
    stride = None if tensor.is_contiguous() else tuple(tensor.stride())
    return TensorSpec(shape=tuple(tensor.shape), dtype=kind, stride=stride, device=tensor.device.type)


def _kind(tensor: torch.Tensor) -> str:
    if tensor.is_quantized:
        return "quantised"
    return "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """True when two elements may lie at one address, as after ``expand``: such a layout cannot be written to."""
    reach = 1
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if step < reach:
                return True
            reach = step * (size - 1) + reach
    return False


def writable_spec(tensor: torch.Tensor, path: str) -> TensorSpec:
    """Like spec_of, but layouts that cannot be written to count as contiguous."""
    return spec_of(tensor.contiguous() if overlaps_itself(tensor) else tensor, path)


def memory_of(tensor: torch.Tensor) -> Memory | None:
    """Where the tensor's storage lies; None when it has no memory of its own to speak of."""
    try:
        storage = tensor.untyped_storage()
        start, count = storage.data_ptr(), storage.nbytes()
    except (RuntimeError, NotImplementedError):
        return None
    return (start, start + count) if start and count else None


def share_memory(one: Memory | None, other: Memory | None) -> bool:
    """True when the two pieces have a byte in common."""
    return one is not None and other is not None and one[0] < other[1] and other[0] < one[1]


def like(tensor: torch.Tensor) -> torch.Tensor:
    """A copy at an address of its own, with the same strides."""
    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    return copy.copy_(tensor)
