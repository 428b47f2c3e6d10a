"""Memory that the parent owns and lends to one child: poisoned, guarded, and impossible to shrink under the parent's
feet. Where tensors lie on a device the child maps a twin there, and this side keeps both in step.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strop.errors import InternalFault
from strop.sandbox.device_memory import DeviceMemory, is_on_device
from strop.sandbox.poison import Poison, count_unwritten, fill
from strop.targets._cuda_driver import CudaError
from strop.wire.arrays import views
from strop.wire.layout import Layout

Bytes = NDArray[np.uint8]
_EMPTY = Layout(fixed=(), fixed_bytes=0, slot=(), slot_bytes=0, slots=0)


class ArenaSpoiled(RuntimeError):
    """The memory could not be lent: the child tampered with its file, or memory is exhausted, here or on the device."""


class Arena:
    """One memory file (``memfd_create``), mapped here and in the child.

    The file is born empty and sealed against shrinking, and against further seals: whatever the child does to it, the
    parent can neither be hit by SIGBUS nor be locked out. It grows when a layout asks for more (``resize``); earlier
    views stay valid, since they lie over the same pages. File sealing: memfd_create(2), fcntl(2) F_ADD_SEALS.
    """

    def __init__(self, name: str) -> None:
        self.layout = _EMPTY
        self.descriptor = os.memfd_create(f"strop-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        self._bytes: Bytes = np.zeros(0, np.uint8)
        self._rng = np.random.Generator(np.random.PCG64(secrets.randbits(128)))
        self._poison: dict[int, Poison] = {}
        self._guards: dict[int | None, tuple[NDArray[np.int64], Bytes]] = {}
        self._stopped: Bytes = np.zeros(0, np.uint8)
        self._twin: DeviceMemory | None = None
        self._changed: set[int | None] = set()
        self._newer: set[int | None] = set()

    @property
    def handle(self) -> bytes:
        """By what the child maps the twin on the device; empty where the memory file is what it maps."""
        return self._twin.handle if self._twin is not None else b""

    @property
    def bytes(self) -> Bytes:
        """The whole arena as it is now; where no device is involved it shares the memory."""
        for place in tuple(self._newer):
            self._fetch(place)
        return self._bytes

    def resize(self, layout: Layout) -> None:
        """Make room for ``layout``, map it and set fresh guards; the file only ever grows.

        Raises:
            ArenaSpoiled: the file cannot be given its size.
        """
        try:
            if os.fstat(self.descriptor).st_size < layout.total_bytes:
                os.ftruncate(self.descriptor, layout.total_bytes)
            mapped = mmap.mmap(self.descriptor, layout.total_bytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        except (OSError, ValueError) as error:
            raise ArenaSpoiled(f"memory of {layout.total_bytes} bytes cannot be lent: {error}") from error
        self._bytes = np.frombuffer(mapped, np.uint8)
        self.layout = layout
        self._poison.clear()
        self._guards.clear()
        self._renew_twin()
        for place in self._places():
            self._renew_guards(place)

    def views(self, slot: int | None) -> dict[str, NDArray[Any]]:
        """The tensors of a slot (None: the fixed ones) by path, as they are now; bfloat16 as uint16."""
        self._fetch(slot)
        return views(self._bytes, self.layout, slot)

    def write(self, slot: int | None, values: Mapping[str, NDArray[Any]]) -> None:
        """Put values into the tensors of a slot (None: the fixed ones): all of them are written."""
        self._newer.discard(slot)
        for path, array in views(self._bytes, self.layout, slot).items():
            array[...] = values[path]
        self._changed.add(slot)

    def poison(self, slots: Sequence[int]) -> None:
        """Fill these slots' tensors with bits of NaNs (integers: random bits), new ones for each call, and renew
        their guards.
        """
        poison = Poison(self._rng)
        for slot in slots:
            for span, start in self.layout.placed(slot):
                fill(self._bytes[start : start + span.extent_bytes], poison.tile(span.tensor.dtype))
            self._poison[slot] = poison
            self._renew_guards(slot)

    def unwritten(self, slot: int, of: Bytes | None = None) -> dict[str, int]:
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

    def guards_intact(self, of: Bytes | None = None) -> bool:
        """False when a byte between the tensors changed since it was last renewed; ``of`` a snapshot, or else of the
        memory as it is now.
        """
        source = self.bytes if of is None else of
        return all(np.array_equal(source[where], expected) for where, expected in self._guards.values())

    def snapshot(self, into: Bytes | None = None) -> Bytes:
        """A private copy of the whole arena, in ``into`` where that is given."""
        into = np.empty_like(self._bytes) if into is None else into
        if self._twin is not None:
            self._twin.pull(into, 0, self._bytes.size)
        else:
            np.copyto(into, self._bytes)
        return into

    def push(self) -> None:
        """Bring what was written here to the device; nothing to do where there is none.

        Raises:
            ArenaSpoiled: the driver refused.
        """
        if self._twin is not None and self._changed:
            with _explained():
                for place in sorted(self._changed, key=lambda each: -1 if each is None else each):
                    self._twin.push(self._bytes, *self._bounds(place))
        self._changed.clear()

    def ran(self) -> None:
        """The child may have written everywhere: what lies on the device is now newer than what is here."""
        if self._twin is not None:
            self._newer = set(self._places())

    def prepare_stop(self) -> None:
        """Take the memory for ``stop``, and touch every page of it: no clock shall pay for that."""
        if self._stopped.size != self._bytes.size:
            self._stopped = np.zeros_like(self._bytes)
            self._stopped.fill(1)
        if self._twin is not None:
            with _explained():
                self._twin.prepare_aside()

    def stop(self) -> None:
        """Copy everything as it is at this moment; ``stopped`` returns it. For use while a clock is running."""
        if self._twin is not None:
            self._twin.keep_aside()
        else:
            np.copyto(self._stopped, self._bytes)

    def stopped(self) -> Bytes:
        """The copy that the last ``stop`` took; the next one overwrites it."""
        if self._twin is not None:
            self._twin.pull_aside(self._stopped)
        return self._stopped

    def close(self) -> None:
        """Let go of the file; the pages live on while somebody still holds a view."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if self._twin is not None:
            self._twin.close()
            self._twin = None
        self._bytes = np.zeros(0, np.uint8)
        self.layout = _EMPTY

    def _fetch(self, place: int | None) -> None:
        """Bring one area here if it is newer on the device."""
        if place in self._newer and self._twin is not None:
            self._twin.pull(self._bytes, *self._bounds(place))
            self._newer.discard(place)

    def _places(self) -> tuple[int | None, ...]:
        return (None, *range(self.layout.slots))

    def _bounds(self, place: int | None) -> tuple[int, int]:
        """Where one area begins and ends."""
        if place is None:
            return 0, self.layout.fixed_bytes
        start = self.layout.slot_start(place)
        return start, start + self.layout.slot_bytes

    def _renew_twin(self) -> None:
        size = self._bytes.size
        if self._twin is not None and (self._twin.size_bytes != size or not is_on_device(self.layout)):
            self._twin.close()
            self._twin = None
        if self._twin is None and is_on_device(self.layout):
            with _explained():
                self._twin = DeviceMemory(size)
        self._newer.clear()
        self._changed = set(self._places())

    def _renew_guards(self, place: int | None) -> None:
        where = _guard_positions(self.layout, place)
        expected = self._rng.integers(0, 256, where.size, np.uint8)
        self._bytes[where] = expected
        self._guards[place] = (where, expected)
        self._changed.add(place)
        self._newer.discard(place)


def _guard_positions(layout: Layout, place: int | None) -> NDArray[np.int64]:
    """Positions of the bytes of one area that belong to no tensor; the areas tile the arena up to its last alignment
    unit.
    """
    start = 0 if place is None else layout.slot_start(place)
    stop = start + (layout.fixed_bytes if place is None else layout.slot_bytes)
    gaps, at = [], start
    for span, begin in sorted(layout.placed(place), key=lambda pair: pair[1]):
        gaps.append(np.arange(at, begin, dtype=np.int64))
        at = begin + span.extent_bytes
    gaps.append(np.arange(at, stop, dtype=np.int64))
    return np.concatenate(gaps)


@contextmanager
def _explained() -> Iterator[None]:
    """The driver's refusal as a fault of the memory that was to be lent."""
    try:
        yield
    except CudaError as error:
        raise ArenaSpoiled(str(error)) from error
