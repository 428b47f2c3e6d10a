"""What the keeper says about its child: one line when it started, one when it ended."""

from __future__ import annotations

import os
import select
import signal
import time
from typing import Literal

KEEPER_LOST = "its keeper was killed"
End = Literal["", "exited", "signal", "refused", "lost"]


class Status:
    """Reads the keeper's status pipe without ever waiting longer than asked.

    ``end`` is empty while the child runs; then ``exited``, ``signal``, ``refused`` (it could not be started) or
    ``lost`` (the keeper itself was killed). ``value`` is the exit code, the signal's number or the reason.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        os.set_blocking(descriptor, False)
        self.pid = 0
        self.end: End = ""
        self.value = ""
        self._unread = b""

    def read(self) -> bool:
        """Take in what was said; True when the child has ended."""
        while not self.end:
            try:
                chunk = os.read(self.descriptor, 4096)
            except BlockingIOError:
                break
            if not chunk:
                self.end, self.value = "lost", KEEPER_LOST
                break
            *lines, self._unread = (self._unread + chunk).split(b"\n")
            for line in lines:
                self._understand(line.decode(errors="replace"))
        return bool(self.end)

    def wait(self, seconds_s: float) -> bool:
        """Wait for the end at most so long; True when the child has ended."""
        return self._wait(seconds_s, until_started=False)

    def wait_for_start(self, seconds_s: float) -> bool:
        """Wait at most so long until the child runs; True when it does or did."""
        self._wait(seconds_s, until_started=True)
        return self.pid != 0

    def _wait(self, seconds_s: float, *, until_started: bool) -> bool:
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        until_s = time.monotonic() + seconds_s
        while not self.read() and not (until_started and self.pid):
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                break
            poll.poll(int(left_s * 1000) + 1)
        return bool(self.end)

    def sentence(self) -> str:
        """How it ended, as the end of a sentence that begins with who."""
        match self.end:
            case "exited":
                return f"exited with status {self.value}"
            case "signal":
                by = signal_name(int(self.value))
                return f"was ended by {by}{' (which the system sends when memory runs out)' if by == 'SIGKILL' else ''}"
            case "refused":
                return f"could not be started: {self.value}"
            case "lost":
                return f"was lost: {KEEPER_LOST}"
        return "is running"

    def _understand(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "started":
            self.pid = int(rest)
        elif word in ("exited", "signal", "refused"):
            # A refusal is followed by the exit of the process that could not become the child.
            self.end = self.end or word  # type: ignore[assignment]
            self.value = self.value or rest


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; real-time signals by number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
