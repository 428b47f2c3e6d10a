"""The worker's end of the two descriptors. Its system calls are taken before any foreign code is loaded."""

from __future__ import annotations

import os
import select
import time

from strop.wire.frames import HEADER, Frame, FrameKind, PipeClosed, pack, unpack_header

_read = os.read
_write = os.write
_clock = time.perf_counter
_DONE = pack(Frame(FrameKind.DONE))
CHUNK_BYTES = 1 << 20


class Pipe:
    """Frames in and out; blocks, because a worker has nothing else to do."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        # Unlike select(2) it takes any number: descriptors keep those that they had in the parent.
        self._asked = select.poll()
        self._asked.register(reading, select.POLLIN)

    def is_asked(self) -> bool:
        """True when a frame is waiting, or nobody is there any more."""
        return bool(self._asked.poll(0))

    def read(self, awake_s: float = 0.0) -> Frame:
        """The next frame; for ``awake_s`` seconds at most a processor is kept busy waiting for it.

        Raises:
            PipeClosed: the parent is gone, which is how a worker is told to end.
        """
        until_s = _clock() + awake_s if awake_s else 0.0
        while _clock() < until_s and not self.is_asked():
            pass
        kind, length = unpack_header(self._exactly(HEADER.size))
        return Frame(kind, self._exactly(length))

    def write(self, frame: Frame) -> None:
        """Write one frame whole."""
        self._all(pack(frame))

    def write_done(self) -> None:
        """Say that a timed round is over; the frame is packed beforehand, because the clock is running."""
        self._all(_DONE)

    def _all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[_write(self._writing, rest) :]

    def _exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            chunk = _read(self._reading, min(count - len(parts), CHUNK_BYTES))
            if not chunk:
                raise PipeClosed("the parent closed the pipe")
            parts += chunk
        return bytes(parts)
