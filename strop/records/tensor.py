"""What a tensor is before it has values: element type, shape, layout, device."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from strop.records._base import Record

HOST = "cpu"


class DType(StrEnum):
    """Element types, named as torch names them."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"
    INT64 = "int64"
    INT32 = "int32"
    INT16 = "int16"
    INT8 = "int8"
    UINT8 = "uint8"
    BOOL = "bool"

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return _ITEM_BYTES[self]

    @property
    def is_floating(self) -> bool:
        """True for real and complex floating types: those that are judged with an error bound."""
        return self in _FLOATING


_ITEM_BYTES = {
    DType.FLOAT64: 8,
    DType.FLOAT32: 4,
    DType.FLOAT16: 2,
    DType.BFLOAT16: 2,
    DType.COMPLEX64: 8,
    DType.COMPLEX128: 16,
    DType.INT64: 8,
    DType.INT32: 4,
    DType.INT16: 2,
    DType.INT8: 1,
    DType.UINT8: 1,
    DType.BOOL: 1,
}
_FLOATING = frozenset({DType.FLOAT64, DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.COMPLEX64, DType.COMPLEX128})


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol(Record):
    """A dimension that varies between calls, with the range it was promised to stay in (``high`` None: open)."""

    name: str
    low: int = 2
    high: int | None = None


Dim = int | Symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec(Record):
    """Shape and layout of one tensor. ``stride`` counts elements; None means contiguous."""

    shape: tuple[Dim, ...]
    dtype: DType
    stride: tuple[Dim, ...] | None = None
    device: str = HOST

    @property
    def on_host(self) -> bool:
        """True when it lies in the machine's own memory, where every process can map it."""
        return self.device == HOST

    @property
    def elements(self) -> int:
        """Number of elements; a symbolic dimension counts with its lower bound."""
        count = 1
        for dim in self.shape:
            count *= dim.low if isinstance(dim, Symbol) else dim
        return count

    @property
    def size_bytes(self) -> int:
        """Bytes of the dense contents."""
        return self.elements * self.dtype.item_bytes
