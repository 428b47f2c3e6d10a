"""The parent's side of a nursery (`strop.sandbox.nursing`): a process that has imported what workers import, and of
which keepers with their children are forked in milliseconds instead of being started in seconds.

A nursery only saves time. Where there is none, or it is gone, a keeper is started as any other program.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ANSWER_S = 60.0
"""Imports take seconds; a nursery that takes longer is of no use."""
PROGRAM = "strop.sandbox.nursing"
COMPILERS = "compilers"
NO_TOKEN = "0" * 32
"""Stands in a nursery's environment where a child's own token is put."""

Environment = Callable[[Path], Mapping[str, str]]


class Forked:
    """A process that a nursery forked: the part of `subprocess.Popen` that keepers are ended by."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor = descriptor

    def kill(self) -> None:
        """End it, unless it has ended."""
        if self._descriptor >= 0 and not self._has_ended(0.0):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def wait(self) -> None:
        """Wait for its end; afterwards nothing of it is held here."""
        if self._descriptor >= 0:
            self._has_ended(None)
            os.close(self._descriptor)
            self._descriptor = -1

    def _has_ended(self, patience_s: float | None) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(patience_s))


class Nursery:
    """Starts its process when it is first needed, or asked to `start`. ``environment`` gives that of the process, whose
    files go below the folder it is told. With ``compilers`` it imports what it can of the compiler as well, while it is
    not asked for anything.
    """

    def __init__(self, environment: Environment, *, compilers: bool) -> None:
        self._environment = environment
        self._compilers = compilers
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        self.folder = Path(tempfile.mkdtemp(prefix="strop-nursery-"))

    @property
    def pid(self) -> int:
        """Of its process; 0 where none was started."""
        return self._process.pid if self._process is not None else 0

    def start(self) -> None:
        """Let it import what workers import, while the caller does something else; idempotent."""
        with self._lock:
            if self._process is not None or self._is_closed:
                return
            self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._line.settimeout(ANSWER_S)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", PROGRAM, str(theirs.fileno()), *([COMPILERS] if self._compilers else [])],
                    env=dict(self._environment(self.folder)),
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )

    def fork(self, plan: Mapping[str, Any], lent: Sequence[int]) -> Forked | None:
        """A keeper with a plan that names the descriptors ``lent`` by their numbers here; None where the nursery gives
        none.
        """
        self.start()
        with self._lock, os.fdopen(os.memfd_create("plan"), "w+b") as told:
            if self._is_closed:
                return None
            told.write(json.dumps({**plan, "lent_as": list(lent)}).encode())
            told.seek(0)
            try:
                socket.send_fds(self._line, [b"fork"], [told.fileno(), *lent])
                answer, descriptors, *_ = socket.recv_fds(self._line, 16, 1)
            except OSError:
                # It is gone, or never came up: whoever is started without it will say why. What it was asked for it
                # must not fork later on, beside that one.
                self._is_closed = True
                if self._process is not None:
                    self._process.kill()
                return None
        return Forked(int(answer), descriptors[0]) if descriptors else None

    def close(self) -> None:
        """End its process; what was forked of it goes on. Idempotent."""
        with self._lock:
            self._is_closed = True
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                self._line.close()
                self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)
