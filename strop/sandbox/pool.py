"""Children that are already warm when they are asked for: starting Python and torch takes seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from strop.sandbox.process import Process, Setup
from strop.sandbox.processes import busy_ticks, is_alive
from strop.sandbox.seed import plant
from strop.wire.messages import ChildRole

SETTLE_S = 15.0
STILL_S = 0.15


class Pool:
    """Keeps spare children, of each role in ``ahead`` at most so many. A spare has run nothing but imports; no child is
    used twice.

    While it is held still (``still``) nothing is started ahead, and spares that still warm up are waited for: a clock
    is running.
    """

    def __init__(self, setup: Setup, *, ahead: Mapping[ChildRole, int]) -> None:
        self._setup = setup
        self._ahead = dict(ahead)
        self._spares: dict[ChildRole, list[Process]] = {role: [] for role in ChildRole}
        self._still = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def take(self, role: ChildRole) -> Process:
        """A fresh child, warm where a spare was ready; the next spare starts behind its back."""
        process = self._ready(role) or Process(role, self._setup)
        if role is ChildRole.CANDIDATE and self._setup.cache is not None:
            plant(process.scratch, self._setup.cache, process.watch.allow)
        self._start_spares(role, self._ahead.get(role, 0))
        return process

    def _ready(self, role: ChildRole) -> Process | None:
        """The spare that is warm longest, if there is one that lives."""
        with self._lock:
            while self._spares[role]:
                process = self._spares[role].pop(0)
                if not process.status.read():
                    return process
                process.end()
        return None

    def prepare(self) -> None:
        """Start what children are forked of, or all spares, now, so that the next ``take`` finds them warm."""
        if self._setup.nursery is not None:
            self._setup.nursery.start()
        for role, wanted in self._ahead.items():
            self._start_spares(role, wanted)

    @contextmanager
    def still(self) -> Iterator[None]:
        """Start nothing ahead, and let what was started come to rest first."""
        with self._lock:
            self._still += 1
            waited_for = [process for spares in self._spares.values() for process in spares]
        until_s = time.monotonic() + SETTLE_S
        for process in waited_for:
            process.status.wait_for_start(1.0)
            _settle(process.status.pid, until_s)
        if self._setup.nursery is not None:
            _settle(self._setup.nursery.pid, until_s)
        try:
            yield
        finally:
            with self._lock:
                self._still -= 1

    def close(self) -> None:
        """End all spares; idempotent."""
        with self._lock:
            self._is_closed = True
            ended = [process for spares in self._spares.values() for process in spares]
            self._spares = {role: [] for role in ChildRole}
        for process in ended:
            process.end(in_peace=True)

    def _start_spares(self, role: ChildRole, wanted: int) -> None:
        with self._lock:
            while not self._still and not self._is_closed and len(self._spares[role]) < wanted:
                self._spares[role].append(Process(role, self._setup))


def _settle(pid: int, until_s: float) -> None:
    """Return when the process has used no processor time for ``STILL_S``: it waits for a request, or is gone."""
    before, since_s = -1, time.monotonic()
    while time.monotonic() < until_s and is_alive(pid):
        now = busy_ticks(pid)
        if now != before:
            before, since_s = now, time.monotonic()
        elif now > 0 and time.monotonic() - since_s >= STILL_S:
            return
        time.sleep(0.02)
