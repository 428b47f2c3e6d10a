"""`python -m strop.sandbox.nursing FD [compilers]`: imports what workers import, then forks a keeper for each plan that
comes over a socket, and tells its number and a descriptor of it.

What is forked has no threads but one, nothing of what earlier ones were told, and the environment of its plan: it goes
on exactly as a program would that was started anew and has done its imports.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from strop.sandbox.kernel import take_name
from strop.sandbox.launcher import keep
from strop.sandbox.nursery import COMPILERS, NO_TOKEN
from strop.sandbox.processes import MARK

WORKER = "strop.worker.__main__"
HEEDLESS = "torch._dynamo"
"""The largest part of the compiler; the rest keeps where temporary files lay when it was imported."""
MOST_DESCRIPTORS = 32
ARGUMENTS = 3
"""Of a worker's command: behind the interpreter, -m and the module's name."""


def main() -> None:
    """Serve until the socket is closed."""
    # What is imported stays: nobody need look for garbage among it.
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nobody here waits for keepers; whoever asked for one has a descriptor that tells its end.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    line = socket.socket(fileno=int(sys.argv[1]))
    line.set_inheritable(False)
    worker = importlib.import_module(WORKER)
    descriptors = _nursed(line)
    if not descriptors:
        # Who started it is gone, and nobody else takes its folder away.
        shutil.rmtree(Path.cwd(), ignore_errors=True)
        return
    line.detach()
    _be_keeper(worker, descriptors)


def _nursed(line: socket.socket) -> list[int]:
    """Fork for each that asks. In what was forked: the descriptors that came with the question; in the nursery itself
    nothing, once nobody can ask any more.
    """
    asked = select.poll()
    asked.register(line, select.POLLIN)
    ahead = [HEEDLESS] if COMPILERS in sys.argv else []
    with contextlib.suppress(ConnectionError):
        while True:
            while ahead and not asked.poll(0):
                importlib.import_module(ahead.pop(0))
            message, descriptors, *_ = socket.recv_fds(line, 16, MOST_DESCRIPTORS)
            if not message:
                break
            gc.freeze()
            pid = os.fork()
            if pid == 0:
                return descriptors
            for descriptor in descriptors:
                os.close(descriptor)
            handle = os.pidfd_open(pid)
            socket.send_fds(line, [str(pid).encode()], [handle])
            os.close(handle)
    return []


def _be_keeper(worker: ModuleType, descriptors: list[int]) -> NoReturn:
    os.setsid()
    take_name("strop-keeper")
    with os.fdopen(descriptors[0], "rb") as told:
        plan = json.loads(told.read())
    _renumber(descriptors[1:], plan["lent_as"])
    os.chdir("/")
    # What a keeper says itself goes to the child's output, as from any other.
    os.dup2(plan["output"], 2)

    def become(plan: Mapping[str, Any]) -> None:
        _take_on(plan["environment"])
        sys.argv = [WORKER, *plan["command"][ARGUMENTS:]]
        take_name(f"strop-{sys.argv[-1].partition('=')[2]}")
        if worker.main():
            os._exit(0)

    keep(plan, become)
    os._exit(0)


def _renumber(descriptors: Sequence[int], numbers: Sequence[int]) -> None:
    """Give descriptors the numbers by which the plan knows them; all others but the first three are closed."""
    above = [fcntl.fcntl(each, fcntl.F_DUPFD, max(numbers) + 1) for each in descriptors]
    for each in map(int, os.listdir("/proc/self/fd")):
        if each > 2 and each not in above:
            with contextlib.suppress(OSError):
                os.close(each)
    for each, number in zip(above, numbers, strict=True):
        os.dup2(each, number)
        os.close(each)


def _take_on(environment: Mapping[str, str]) -> None:
    """Let this process have the environment that it would have been started with."""
    _show(environment[MARK])
    os.environ.clear()
    os.environ.update(environment)
    # It was found out under the nursery's environment.
    tempfile.tempdir = None


def _show(token: str) -> None:
    """Put a token where others see this process' first environment (environ of proc(5)), over the nursery's none."""
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    entry = f"{MARK}={NO_TOKEN}".encode()
    place = ctypes.string_at(start, end - start).find(entry)
    if place >= 0:
        ctypes.memmove(start + place, f"{MARK}={token}".encode(), len(entry))


if __name__ == "__main__":
    main()
