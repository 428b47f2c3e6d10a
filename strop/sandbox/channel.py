"""The parent's end of the two pipes: every byte with a deadline, every frame checked."""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass

from strop.sandbox.status import Status
from strop.wire.frames import HEADER, Frame, pack, unpack_header

CHUNK_BYTES = 1 << 20


class NoAnswer(TimeoutError):
    """The deadline passed before the child answered."""


class ChildEnded(EOFError):
    """The process behind the pipe ended, or nobody holds its other end any more."""


@dataclass(slots=True)
class Deadline:
    """A moment on the monotonic clock."""

    at_s: float

    @classmethod
    def after(cls, seconds_s: float) -> Deadline:
        """The moment that lies ``seconds_s`` from now."""
        return cls(time.monotonic() + seconds_s)

    def left_ms(self) -> int:
        """Milliseconds left, for poll(2); at least one while any time is left.

        Raises:
            NoAnswer: none is left.
        """
        left = self.at_s - time.monotonic()
        if left <= 0:
            raise NoAnswer
        return max(1, int(left * 1000))


class Channel:
    """Writes frames to ``requests`` and reads frames from ``replies``, for as long as ``status`` says that the child
    runs.
    """

    def __init__(self, requests: int, replies: int, status: Status) -> None:
        self._requests, self._replies, self._status = requests, replies, status
        os.set_blocking(requests, False)
        os.set_blocking(replies, False)
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(requests, select.POLLOUT)
        self._readable.register(replies, select.POLLIN)
        for poll in (self._writable, self._readable):
            poll.register(status.descriptor, select.POLLIN)

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Write all of ``data``.

        Raises:
            NoAnswer: the child did not read it in time.
            ChildEnded: it cannot read any more.
        """
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._requests, left) :]
            except BlockingIOError:
                self._wait(self._writable, self._requests, deadline)
            except OSError as error:
                raise ChildEnded from error

    def send_frame(self, frame: Frame, deadline: Deadline) -> None:
        """Write one frame."""
        self.send(pack(frame), deadline)

    def receive(self, deadline: Deadline, *, awake: bool = False) -> Frame:
        """Read one frame; ``awake`` keeps a processor busy until its first byte is there.

        Raises:
            FrameError: it breaks the format.
            NoAnswer, ChildEnded: as for ``send``.
        """
        while awake and not self._readable.poll(0):
            deadline.left_ms()
        kind, length = unpack_header(self._exactly(HEADER.size, deadline))
        return Frame(kind, self._exactly(length, deadline))

    def has_unasked_answer(self) -> bool:
        """True when bytes lie in the pipe although nothing was asked."""
        poll = select.poll()
        poll.register(self._replies, select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(0))

    def _exactly(self, count: int, deadline: Deadline) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            try:
                chunk = os.read(self._replies, min(count - len(parts), CHUNK_BYTES))
            except BlockingIOError:
                self._wait(self._readable, self._replies, deadline)
                continue
            if not chunk:
                raise ChildEnded
            parts += chunk
            if len(parts) < count:
                deadline.left_ms()
        return bytes(parts)

    def _wait(self, poll: select.poll, descriptor: int, deadline: Deadline) -> None:
        """Return when trying again makes sense; what was written before the end still counts."""
        ended = self._status.read()
        ready = dict(poll.poll(0 if ended else deadline.left_ms()))
        if descriptor in ready:
            return
        if ended:
            raise ChildEnded
        if not ready:
            raise NoAnswer
