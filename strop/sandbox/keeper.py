"""The parent's side of a keeper (`strop.sandbox.launcher`): starting it with a plan, and hearing from it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from strop.sandbox.environment import PACKAGE_FOLDER
from strop.sandbox.nursery import Nursery
from strop.sandbox.status import Status

_PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop()); from strop.sandbox.launcher import main; main()"
"""Isolated Python looks for modules nowhere by itself; the last argument says where Strop is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One child: what it runs, with which limits and layers, where it may write, which descriptors it is lent, and
    which folders look empty to it where it has mounts of its own.
    """

    command: Sequence[str]
    scratch: Path
    layers: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    rlimits: Mapping[str, int] = field(default_factory=dict[str, int])
    writable: Sequence[str] = ()
    lent: Sequence[int] = ()
    hidden: Sequence[str] = ()


class Keeper:
    """A running keeper, forked of ``nursery`` where there is one, whose child then is a worker. ``output`` gives
    everything that is printed behind it; whoever reads it closes it.
    """

    def __init__(self, plan: Plan, nursery: Nursery | None = None) -> None:
        with contextlib.ExitStack() as theirs:
            self.output, printed = pipe(theirs, keep=0)
            status, tells = pipe(theirs, keep=0)
            life, self._life = pipe(theirs, keep=1)
            told = {**asdict(plan), "scratch": str(plan.scratch), "output": printed, "status": tells, "life": life}
            lent = (*plan.lent, printed, tells, life)
            self._process = (nursery and nursery.fork(told, lent)) or _started(told, lent, printed)
        self.plan = plan
        self.status = Status(status)

    @property
    def pid(self) -> int:
        """Of the keeper itself."""
        return self._process.pid

    def kill(self) -> None:
        """End the keeper; what it keeps was ended before, or dies with it."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let go of its pipes, but for the output; it must have ended."""
        os.close(self.status.descriptor)
        os.close(self._life)


def _started(told: Mapping[str, Any], lent: Sequence[int], printed: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, json.dumps(told), str(PACKAGE_FOLDER)],
        env={},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=printed,
        pass_fds=lent,
        start_new_session=True,
    )


def pipe(theirs: contextlib.ExitStack, keep: int) -> tuple[int, int]:
    """A pipe of which the child's end is closed here when it has been handed over."""
    ends = os.pipe2(os.O_CLOEXEC)
    theirs.callback(os.close, ends[1 - keep])
    return ends
