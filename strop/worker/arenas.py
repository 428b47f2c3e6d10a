"""Memory that the parent owns, seen as tensors. Every tensor has a storage of its own, exactly as long as it is."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable

import torch

from strop.errors import InternalFault
from strop.targets._devices import close_lent, lent_tensor, open_lent
from strop.wire.layout import Layout, Span
from strop.wire.tensors import shaped, sizes, torch_dtype

Flat = Callable[[torch.dtype, int, int], torch.Tensor]
"""A one-dimensional tensor of a type, of so many elements, from so many bytes behind the arena's start."""


def arena(descriptor: int, layout: Layout, handle: str, before: Arena | None = None) -> Arena:
    """Map an arena: the memory on the device that ``handle`` names, else the file.

    Args:
        before: the arena that this one takes the place of. Where it is the same memory it is not mapped twice, and
            other memory on a device is given back.
    """
    known, address = before.mapped if before is not None else None, 0
    if known is not None and known[0] == handle:
        address = known[1]
    elif known is not None:
        close_lent(known[1])
    if handle:
        address = address or open_lent(bytes.fromhex(handle))
        return Arena(layout, lambda dtype, count, start: lent_tensor(address + start, dtype, count), (handle, address))
    held = os.fstat(descriptor).st_size
    if held < layout.total_bytes:
        raise InternalFault(f"An arena holds {held} bytes, its layout needs {layout.total_bytes}.")
    memory = mmap.mmap(descriptor, layout.total_bytes, flags=mmap.MAP_SHARED)
    return Arena(layout, lambda dtype, count, start: torch.frombuffer(memory, dtype=dtype, count=count, offset=start))


class Arena:
    """One mapped arena; ``fixed`` and the slots are dictionaries of tensors by path. ``mapped`` is the handle and the
    address here of memory on a device.
    """

    def __init__(self, layout: Layout, flat: Flat, mapped: tuple[str, int] | None = None) -> None:
        self.layout = layout
        self.mapped = mapped
        self._flat = flat
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
        if span.extent_bytes == 0:
            return torch.empty(sizes(span.tensor), dtype=dtype, device=span.tensor.device)
        return shaped(self._flat(dtype, span.extent_bytes // span.tensor.dtype.item_bytes, start), span.tensor)
