"""The thread beside each child: it reads what the child prints, and ends it when a limit is broken."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strop.records.evidence import CrashKind
from strop.sandbox.limits import MIB, Limits
from strop.sandbox.processes import descendants, end_tree, folder_bytes, proportional_bytes, resident_bytes

TAIL_BYTES = 64 * 1024
PACE_S = 0.05
QUIET_PACE_S = 0.25
# A clock that runs for long must not hide what fills the machine.
LONGEST_S = 2.0
# A look at the process tree or the folder may take at most this share of one core.
BUSY_SHARE = 0.05


Breach = tuple[CrashKind, str]
"""The limit that was broken, and how."""


class Quiet:
    """Shared by the watches of one wall: while a clock runs for any of the children, all look rarely, and only at what
    costs next to nothing. They are threads of the process that holds the clock.
    """

    def __init__(self) -> None:
        self.looking = threading.Lock()
        self._depth = 0

    @property
    def is_kept(self) -> bool:
        """True while a clock runs."""
        return self._depth > 0

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Around what is timed; a look that has begun is waited for."""
        with self.looking:
            self._depth += 1
        try:
            yield
        finally:
            with self.looking:
                self._depth -= 1


class Watch(threading.Thread):
    """Watches one child until its output is closed.

    ``breach`` is None, or the limit that was broken: the child has then been ended already. ``lent_bytes`` is what
    the arenas hold; it is not the child's.
    """

    def __init__(self, *, output: int, keeper: int, token: str, scratch: Path, limits: Limits, quiet: Quiet) -> None:
        super().__init__(name=f"strop-watch-{keeper}", daemon=True)
        self.breach: Breach | None = None
        self.lent_bytes = 0
        self._output, self._keeper, self._token = output, keeper, token
        self._scratch, self._limits = str(scratch), limits
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._printed_bytes = 0
        self._known: set[int] = set()
        self._next_disk_s = self._next_full_look_s = 0.0
        self.quiet = quiet
        self._allowed_bytes = 0
        self._is_last = False
        self._is_stopping = False

    def allow(self, disk_bytes: int) -> None:
        """So much more may lie in the scratch folder, because this side puts it there."""
        self._allowed_bytes += disk_bytes

    def run(self) -> None:
        """Read and look, in turns, until nobody holds the other end of the output or all that was printed is read."""
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        next_look_s = time.monotonic() + PACE_S
        while not self._is_stopping:
            pause_s = max(0.0, min(next_look_s - time.monotonic(), QUIET_PACE_S if self.quiet.is_kept else PACE_S))
            is_over = not self._read() if poll.poll(int(pause_s * 1000) + 1) else self._is_last
            if is_over:
                break
            if time.monotonic() >= next_look_s and self.breach is None:
                next_look_s = self._look()
        os.close(self._output)

    def stop(self) -> None:
        """End the thread once it has read what was printed before, within a moment even when a process that could not
        be ended goes on printing. The keeper holds the output, so its end need not come.
        """
        self._is_last = True
        self.join(timeout=1.0)
        self._is_stopping = True

    def tail(self) -> str:
        """The end of what was printed, at most ``TAIL_BYTES`` bytes of it."""
        return b"".join(tuple(self._tail))[-TAIL_BYTES:].decode(errors="replace")

    def over_disk(self) -> bool:
        """True when the scratch folder holds its quota or more."""
        return folder_bytes(self._scratch) >= self._limits.disk_bytes + self._allowed_bytes

    def _read(self) -> bool:
        chunk = os.read(self._output, TAIL_BYTES)
        self._printed_bytes += len(chunk)
        self._tail.append(chunk)
        self._tail_bytes += len(chunk)
        while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_bytes -= len(self._tail.popleft())
        if self._printed_bytes > self._limits.output_bytes and self.breach is None:
            self._end(CrashKind.OUTPUT, f"printed more than {_size(self._limits.output_bytes)}")
        return bool(chunk)

    def _look(self) -> float:
        """Compare with the limits; returns when to look again."""
        with self.quiet.looking:
            began_s = time.monotonic()
            found: list[Breach | None] = []
            if not self.quiet.is_kept or began_s >= self._next_full_look_s:
                self._next_full_look_s = began_s + LONGEST_S
                self._known = descendants(self._keeper)
                found.append(self._look_at_disk(began_s))
            found.append(self._look_at_memory())
            took_s = time.monotonic() - began_s
            pace_s = QUIET_PACE_S if self.quiet.is_kept else PACE_S
        for breach in filter(None, found):
            self._end(*breach)
        return began_s + max(pace_s, took_s / BUSY_SHARE)

    def _look_at_memory(self) -> Breach | None:
        limits, count = self._limits, len(self._known)
        if count > limits.processes:
            return CrashKind.PROCESSES, f"ran {count} processes at once; the limit is {limits.processes}"
        if resident_bytes(self._known, self.lent_bytes) > limits.memory_bytes:
            held = proportional_bytes(self._known, self.lent_bytes)
            if held > limits.memory_bytes:
                return CrashKind.MEMORY, f"held {_size(held)} of memory; the limit is {_size(limits.memory_bytes)}"
        return None

    def _look_at_disk(self, now_s: float) -> Breach | None:
        if now_s < self._next_disk_s:
            return None
        is_over = self.over_disk()
        self._next_disk_s = now_s + (time.monotonic() - now_s) / BUSY_SHARE
        if is_over:
            return CrashKind.DISK, f"filled its scratch folder; its quota is {_size(self._limits.disk_bytes)}"
        return None

    def _end(self, kind: CrashKind, detail: str) -> None:
        self.breach = self.breach or (kind, detail)
        end_tree(self._keeper, self._token)


def _size(count: int) -> str:
    return f"{count / MIB:.0f} MiB" if count >= MIB else f"{count} bytes"
