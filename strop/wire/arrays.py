"""Spans as numpy arrays. bfloat16 has no numpy type: its arrays hold the 16 bits as uint16."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strop.records.tensor import DType, TensorSpec
from strop.wire.layout import Layout, extent_bytes

Array = NDArray[Any]

_NUMPY = {kind: np.dtype(kind.value) for kind in DType if kind is not DType.BFLOAT16}
_NUMPY[DType.BFLOAT16] = np.dtype("uint16")


def view(buffer: memoryview | NDArray[np.uint8], tensor: TensorSpec, offset_bytes: int) -> Array:
    """The tensor at ``offset_bytes`` of ``buffer``, sharing its memory; shape and strides as in the spec."""
    shape = tuple(dim if isinstance(dim, int) else dim.low for dim in tensor.shape)
    kind = _NUMPY[tensor.dtype]
    if tensor.stride is None:
        strides = None
    else:
        strides = tuple((s if isinstance(s, int) else s.low) * kind.itemsize for s in tensor.stride)
    if extent_bytes(tensor) == 0:
        return np.zeros(shape, kind)
    return np.ndarray(shape, kind, buffer=buffer, offset=offset_bytes, strides=strides)


def views(buffer: memoryview | NDArray[np.uint8], layout: Layout, slot: int | None) -> dict[str, Array]:
    """All tensors of a slot (None: the fixed ones) by path."""
    return {span.path: view(buffer, span.tensor, start) for span, start in layout.placed(slot)}


def as_float64(array: Array, dtype: DType) -> NDArray[np.float64]:
    """Values in double precision; complex values become a trailing axis of two."""
    if dtype is DType.BFLOAT16:
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype in (DType.COMPLEX64, DType.COMPLEX128):
        return np.stack([np.real(array), np.imag(array)], axis=-1).astype(np.float64)
    return array.astype(np.float64)


def guard_mask(layout: Layout) -> NDArray[np.bool_]:
    """True for every byte of the arena that belongs to no tensor: those may never change."""
    mask = np.ones(layout.total_bytes, dtype=np.bool_)
    places: Sequence[int | None] = [None, *range(layout.slots)]
    for slot in places:
        for span, start in layout.placed(slot):
            mask[start : start + span.extent_bytes] = False
    return mask
