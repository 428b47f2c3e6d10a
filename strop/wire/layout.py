"""Where each tensor lies in an arena: fixed spans first, then equal slots; guard bytes stand around every span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strop.records._base import Record
from strop.records.tensor import TensorSpec
from strop.records.workload import Domain, Leaf

ALIGNMENT_BYTES = 256
GUARD_BYTES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Span(Record):
    """One tensor at ``offset_bytes`` from the start of its area; ``extent_bytes`` covers its strides, ``domain``
    is what the values of an input mean.
    """

    path: str
    tensor: TensorSpec
    offset_bytes: int
    extent_bytes: int
    domain: Domain | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout(Record):
    """An arena: ``fixed`` spans (parameters, buffers) from 0, then ``slots`` areas of ``slot_bytes`` each with the
    ``slot`` spans.
    """

    fixed: tuple[Span, ...]
    fixed_bytes: int
    slot: tuple[Span, ...]
    slot_bytes: int
    slots: int

    @property
    def total_bytes(self) -> int:
        """Size of the arena, at least one alignment unit."""
        return max(ALIGNMENT_BYTES, self.fixed_bytes + self.slots * self.slot_bytes)

    def slot_start(self, slot: int) -> int:
        """Offset of a slot's area."""
        if not 0 <= slot < self.slots:
            raise IndexError(f"slot {slot} of {self.slots}")
        return self.fixed_bytes + slot * self.slot_bytes

    def placed(self, slot: int | None) -> tuple[tuple[Span, int], ...]:
        """Spans with their absolute offsets: the fixed ones for None, else those of one slot."""
        if slot is None:
            return tuple((span, span.offset_bytes) for span in self.fixed)
        start = self.slot_start(slot)
        return tuple((span, start + span.offset_bytes) for span in self.slot)


def extent_bytes(tensor: TensorSpec) -> int:
    """Bytes from the first to behind the last element, strides included."""
    shape = [dim if isinstance(dim, int) else dim.low for dim in tensor.shape]
    if 0 in shape:
        return 0
    if tensor.stride is None:
        return tensor.size_bytes
    stride = [step if isinstance(step, int) else step.low for step in tensor.stride]
    reach = sum((dim - 1) * step for dim, step in zip(shape, stride, strict=True))
    return (reach + 1) * tensor.dtype.item_bytes


def _aligned(count: int) -> int:
    return -(-count // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _place(leaves: Sequence[Leaf]) -> tuple[tuple[Span, ...], int]:
    spans, offset = [], GUARD_BYTES
    for leaf in leaves:
        extent = extent_bytes(leaf.tensor)
        spans.append(
            Span(path=leaf.path, tensor=leaf.tensor, offset_bytes=offset, extent_bytes=extent, domain=leaf.domain)
        )
        offset += _aligned(extent) + GUARD_BYTES
    return tuple(spans), _aligned(offset) if spans else 0


def plan_layout(fixed: Sequence[Leaf], slot: Sequence[Leaf], slots: int) -> Layout:
    """Lay out an arena with ``slots`` slots; both sides of the wall use the record that this returns."""
    fixed_spans, fixed_bytes = _place(fixed)
    slot_spans, slot_bytes = _place(slot)
    return Layout(fixed=fixed_spans, fixed_bytes=fixed_bytes, slot=slot_spans, slot_bytes=slot_bytes, slots=slots)
