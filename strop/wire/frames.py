"""Frames on a pipe: a fixed header, then the body. The two messages inside the clock have no body to parse."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from enum import IntEnum

MAGIC = b"STRP"
HEADER = struct.Struct("<4sBI")
GO = struct.Struct("<IQ")
MAX_BODY_BYTES = 256 * 1024 * 1024


class FrameKind(IntEnum):
    """RECORD carries JSON of a request or reply; GO carries the number of calls and the key of their chain, which is 0
    where there is none; DONE carries nothing.
    """

    RECORD = 1
    GO = 2
    DONE = 3


class FrameError(ValueError):
    """The other side broke the format."""


class PipeClosed(EOFError):
    """The other side is gone."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message."""

    kind: FrameKind
    body: bytes = b""


def pack(frame: Frame) -> bytes:
    """Header and body as one string of bytes."""
    if len(frame.body) > MAX_BODY_BYTES:
        raise FrameError(f"a message of {len(frame.body)} bytes is over the limit of {MAX_BODY_BYTES}")
    return HEADER.pack(MAGIC, frame.kind, len(frame.body)) + frame.body


def unpack_header(data: bytes) -> tuple[FrameKind, int]:
    """Kind and body length.

    Raises:
        FrameError: wrong magic, unknown kind or a body over the limit.
    """
    magic, kind, length = HEADER.unpack(data)
    if magic != MAGIC:
        raise FrameError("a frame does not begin with its mark")
    if kind not in FrameKind.__members__.values():
        raise FrameError(f"frame kind {kind} is unknown")
    if length > MAX_BODY_BYTES:
        raise FrameError(f"a message announces {length} bytes, over the limit of {MAX_BODY_BYTES}")
    return FrameKind(kind), length


def write_frame(descriptor: int, frame: Frame) -> None:
    """Write all of it; blocks."""
    data = memoryview(pack(frame))
    while data:
        data = data[os.write(descriptor, data) :]


def read_frame(descriptor: int) -> Frame:
    """Read one frame; blocks (the child's side; the parent reads with a deadline of its own)."""
    kind, length = unpack_header(_read_exactly(descriptor, HEADER.size))
    return Frame(kind, _read_exactly(descriptor, length))


def _read_exactly(descriptor: int, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        chunk = os.read(descriptor, min(count - len(parts), 1 << 20))
        if not chunk:
            raise PipeClosed("the other side closed the pipe")
        parts += chunk
    return bytes(parts)
