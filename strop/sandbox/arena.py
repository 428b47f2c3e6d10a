"""Memory that the parent owns and lends to one child: poisoned, guarded, and impossible to shrink under the parent's
feet. It lies where the tensors lie: in a memory file, or on the device.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from strop.errors import InternalFault
from strop.sandbox.device_memory import DeviceMemory, is_on_device
from strop.sandbox.poison import Poison, count_unwritten, fill, random_bytes
from strop.targets._cuda_driver import CudaError
from strop.targets._devices import WORTH_GIVING_BACK_BYTES, synchronise
from strop.wire.layout import Layout
from strop.wire.tensors import Tensors, views

_NOTHING = torch.empty(0, dtype=torch.uint8)
_EMPTY = Layout(fixed=(), fixed_bytes=0, slot=(), slot_bytes=0, slots=0)


class ArenaSpoiled(RuntimeError):
    """The memory could not be lent: the child tampered with its file, or memory is exhausted, here or on the device."""


class Arena:
    """Memory that is mapped here and in the child, by memory file (``memfd_create``) or by the handle of an allocation
    on the device.

    The file is born empty and sealed against shrinking, and against further seals: whatever the child does to it, the
    parent can neither be hit by SIGBUS nor be locked out. It grows when a layout asks for more (``resize``); earlier
    views stay valid, since they lie over the same pages. Memory on a device is exchanged when it has to grow, and
    views of it end with ``release_former``. File sealing: memfd_create(2), fcntl(2) F_ADD_SEALS.
    """

    def __init__(self, name: str) -> None:
        self.layout = _EMPTY
        self.descriptor = os.memfd_create(f"strop-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        self.bytes = _NOTHING
        self._poison: dict[int, Poison] = {}
        self._guards: dict[int | None, tuple[torch.Tensor, torch.Tensor]] = {}
        self._stopped = _NOTHING
        self._stopped_layout = _EMPTY
        self._lent: DeviceMemory | None = None
        self._former: list[DeviceMemory] = []

    @property
    def handle(self) -> bytes:
        """By what the child maps the memory on the device; empty where the memory file is what it maps."""
        return self._lent.handle if self._lent is not None else b""

    def resize(self, layout: Layout) -> None:
        """Make room for ``layout``, map it and set fresh guards.

        Raises:
            ArenaSpoiled: the memory cannot be had.
        """
        self._let_go(unless=layout)
        self.bytes = self._on_device(layout) if is_on_device(layout) else self._in_file(layout.total_bytes)
        self.layout = layout
        self._poison.clear()
        self._guards.clear()
        for place in (None, *range(layout.slots)):
            self._renew_guards(place)

    def release_former(self) -> None:
        """Give back memory on the device that was exchanged; the child has mapped what took its place, or has ended."""
        for memory in self._former:
            memory.close()
        self._former.clear()

    def views(self, slot: int | None) -> Tensors:
        """The tensors of a slot (None: the fixed ones) by path; they share this memory."""
        return views(self.bytes, self.layout, slot)

    def write(self, slot: int | None, values: Mapping[str, torch.Tensor]) -> None:
        """Put values into the tensors of a slot (None: the fixed ones): all of them are written."""
        for path, place in self.views(slot).items():
            place.copy_(values[path])

    def poison(self, slots: Sequence[int]) -> None:
        """Fill these slots' tensors with bits of NaNs (integers: random bits), new ones for each call, and renew
        their guards.
        """
        poison = Poison(self.bytes.device)
        for slot in slots:
            for span, start in self.layout.placed(slot):
                fill(self.bytes[start : start + span.extent_bytes], poison.tile(span.tensor.dtype))
            self._poison[slot] = poison
            self._renew_guards(slot)

    def unwritten(self, slot: int, of: torch.Tensor | None = None) -> dict[str, int]:
        """Per path, how many elements of the slot still hold the poison bit for bit; ``of`` a snapshot, or else of
        the memory as it is now.

        Small integers may equal the poison by chance; they count only in runs too long for that.
        """
        poison = self._poison.get(slot)
        if poison is None:
            raise InternalFault(f"Slot {slot} was searched for poison before it was poisoned; please report this.")
        source = self.bytes if of is None else of
        return {
            span.path: count_unwritten(
                source[start : start + span.extent_bytes], span.tensor, poison.tile(span.tensor.dtype)
            )
            for span, start in self.layout.placed(slot)
        }

    def guards_intact(self, of: torch.Tensor | None = None) -> bool:
        """False when a byte between the tensors changed since it was last renewed; ``of`` a snapshot, or else of the
        memory as it is now.
        """
        source = self.bytes if of is None else of
        return all(torch.equal(source[where], expected) for where, expected in self._guards.values())

    def snapshot(self) -> torch.Tensor:
        """A private copy of the whole arena."""
        return self.bytes.clone()

    def settle(self) -> None:
        """Return when everything that was written here can be seen by the child."""
        synchronise(self.bytes.device.type)

    def prepare_stop(self, count: int) -> None:
        """Take the memory for the ``stop`` of so many slots and touch every page of it: no clock shall pay for it."""
        self._stopped_layout = replace(self.layout, fixed=(), fixed_bytes=0, slots=count)
        wanted = self._stopped_layout.total_bytes
        if self._stopped.numel() != wanted or self._stopped.device != self.bytes.device:
            self._stopped = torch.empty(wanted, dtype=torch.uint8, device=self.bytes.device).fill_(1)

    def stop(self, slots: Sequence[int]) -> None:
        """Copy slots as they are at this moment; ``stopped`` returns them. For use while a clock is running."""
        size = self.layout.slot_bytes
        for place, slot in enumerate(slots):
            start = self.layout.slot_start(slot)
            self._stopped[place * size : (place + 1) * size].copy_(self.bytes[start : start + size])
        self.settle()

    def stopped(self) -> list[Tensors]:
        """The slots' tensors as the last ``stop`` found them, which are the caller's from now on."""
        stopped, self._stopped = self._stopped, _NOTHING
        return [views(stopped, self._stopped_layout, place) for place in range(self._stopped_layout.slots)]

    def close(self) -> None:
        """Let go of the file and of the memory on the device; the pages of the file live on while somebody still holds
        a view.
        """
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        self._let_go()
        self.release_former()
        self.layout = self._stopped_layout = _EMPTY

    def _let_go(self, unless: Layout = _EMPTY) -> None:
        """Part with the memory on the device, except where the next layout fits in and leaves little of it unused."""
        self._guards.clear()
        self._poison.clear()
        self._stopped = _NOTHING
        unused_bytes = self._lent.bytes.numel() - unless.total_bytes if self._lent is not None else 0
        fits = is_on_device(unless) and 0 <= unused_bytes <= WORTH_GIVING_BACK_BYTES
        if self._lent is not None and not fits:
            self.settle()
            # The child still maps it: only when it has let go may it be released.
            self._former.append(self._lent)
            self._lent = None
        self.bytes = _NOTHING

    def _on_device(self, layout: Layout) -> torch.Tensor:
        try:
            self._lent = self._lent or DeviceMemory(layout.total_bytes)
        except CudaError as error:
            if not self._former or self._former[-1].bytes.numel() < layout.total_bytes:
                raise ArenaSpoiled(str(error)) from error
            # A smaller layout was to give memory back, and there is not even enough to exchange it.
            self._lent = self._former.pop()
        return self._lent.bytes[: layout.total_bytes]

    def _in_file(self, size_bytes: int) -> torch.Tensor:
        try:
            if os.fstat(self.descriptor).st_size < size_bytes:
                os.ftruncate(self.descriptor, size_bytes)
            mapped = mmap.mmap(self.descriptor, size_bytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        except (OSError, ValueError) as error:
            raise ArenaSpoiled(f"memory of {size_bytes} bytes cannot be lent: {error}") from error
        return torch.frombuffer(mapped, dtype=torch.uint8)

    def _renew_guards(self, place: int | None) -> None:
        known = self._guards.get(place)
        where = known[0] if known else _guard_positions(self.layout, place).to(self.bytes.device)
        expected = random_bytes(where.numel()).to(self.bytes.device)
        self.bytes[where] = expected
        self._guards[place] = (where, expected)


def _guard_positions(layout: Layout, place: int | None) -> torch.Tensor:
    """Positions of the bytes of one area that belong to no tensor; the areas tile the arena up to its last alignment
    unit.
    """
    start = 0 if place is None else layout.slot_start(place)
    stop = start + (layout.fixed_bytes if place is None else layout.slot_bytes)
    gaps, at = [torch.empty(0, dtype=torch.int64)], start
    for span, begin in sorted(layout.placed(place), key=lambda pair: pair[1]):
        gaps.append(torch.arange(at, begin))
        at = begin + span.extent_bytes
    gaps.append(torch.arange(at, stop))
    return torch.cat(gaps)
