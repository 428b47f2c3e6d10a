"""Memory that the parent owns, seen as tensors. Every tensor has a storage of its own, exactly as long as it is."""

from __future__ import annotations

import mmap
import os

import torch

from strop.errors import InternalFault
from strop.wire.layout import Layout, Span
from strop.worker.tensors import torch_dtype


class Arena:
    """One mapped arena; ``fixed`` and the slots are dictionaries of tensors by path."""

    def __init__(self, descriptor: int, layout: Layout) -> None:
        held = os.fstat(descriptor).st_size
        if held < layout.total_bytes:
            raise InternalFault(f"An arena holds {held} bytes, its layout needs {layout.total_bytes}.")
        self.layout = layout
        self._memory = mmap.mmap(descriptor, layout.total_bytes, flags=mmap.MAP_SHARED)
        self.fixed = self._views(None)
        self._slots = [self._views(slot) for slot in range(layout.slots)]

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self._slots)

    def slot(self, index: int) -> dict[str, torch.Tensor]:
        """The tensors of one slot."""
        if not 0 <= index < len(self._slots):
            raise InternalFault(f"Slot {index} was asked for, the arena has {len(self._slots)}.")
        return self._slots[index]

    def _views(self, slot: int | None) -> dict[str, torch.Tensor]:
        return {span.path: self._view(span, start) for span, start in self.layout.placed(slot)}

    def _view(self, span: Span, start: int) -> torch.Tensor:
        dtype = torch_dtype(span.tensor.dtype)
        shape = [dim if isinstance(dim, int) else dim.low for dim in span.tensor.shape]
        if span.extent_bytes == 0:
            return torch.empty(shape, dtype=dtype)
        count = span.extent_bytes // span.tensor.dtype.item_bytes
        flat = torch.frombuffer(self._memory, dtype=dtype, count=count, offset=start)
        if span.tensor.stride is None:
            return flat.view(shape)
        return flat.as_strided(shape, [step if isinstance(step, int) else step.low for step in span.tensor.stride])
