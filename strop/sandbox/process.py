"""Starting one child under its keeper, and ending it for certain."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from strop.sandbox.arena import Arena
from strop.sandbox.cache import Loan, TrustedCache
from strop.sandbox.channel import Channel
from strop.sandbox.environment import child_environment
from strop.sandbox.isolation import Grade, layers_of, writable_by
from strop.sandbox.keeper import Keeper, Plan, pipe
from strop.sandbox.limits import Limits
from strop.sandbox.nursery import Nursery
from strop.sandbox.processes import end_tree
from strop.sandbox.watch import Quiet, Watch
from strop.wire.messages import ChildRole

LOG = logging.getLogger(__name__)
START_S = 5.0

Command = Callable[[int, int, int, int, ChildRole], Sequence[str]]


def worker_command(read: int, write: int, given: int, made: int, role: ChildRole) -> Sequence[str]:
    """The command line of the worker: the two pipes and the two arenas as descriptor numbers, and whom it works for."""
    return (
        sys.executable,
        "-m",
        "strop.worker",
        f"--read={read}",
        f"--write={write}",
        f"--given={given}",
        f"--made={made}",
        f"--role={role}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How children are made here. ``cache`` is where trusted roles keep their compile caches; ``extra`` joins every
    environment. ``nursery`` is what workers are forked of. ``locks`` is a folder of locks that nobody who is confined
    may take: whoever can read one can.
    """

    limits: Limits
    threads: int
    cache: TrustedCache | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    command: Command = worker_command
    quiet: Quiet = field(default_factory=Quiet)
    isolation: Grade = Grade.C
    locks: Path | None = None
    nursery: Nursery | None = None


class Process:
    """One child with its keeper, its pipes, its arenas, its scratch folder and its watch. ``end`` leaves nothing of
    them.
    """

    def __init__(self, role: ChildRole, setup: Setup) -> None:
        self.token = secrets.token_hex(16)
        self.scratch = Path(tempfile.mkdtemp(prefix="strop-"))
        (self.scratch / "tmp").mkdir()
        self.given, self.made = Arena("given"), Arena("made")
        self._is_ended = False
        self._loan: Loan | None = None
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, self.scratch, ignore_errors=True)
            stack.callback(self.given.close)
            stack.callback(self.made.close)
            if setup.cache is not None and role is not ChildRole.CANDIDATE:
                self._loan = setup.cache.lend(self.scratch, self.token)
                stack.callback(self._loan.end, in_peace=True)
            self._start(role, setup)
            stack.pop_all()

    def _start(self, role: ChildRole, setup: Setup) -> None:
        grade = setup.isolation if role.is_judged else Grade.C
        with contextlib.ExitStack() as theirs:
            read, self._requests = pipe(theirs, keep=1)
            self._replies, write = pipe(theirs, keep=0)
            lent = (read, write, self.given.descriptor, self.made.descriptor)
            cache = setup.cache.folder if setup.cache is not None and self._loan is not None else None
            self._keeper = Keeper(
                Plan(
                    command=setup.command(*lent, role),
                    scratch=self.scratch,
                    layers=layers_of(grade),
                    environment=environment_of(setup, self.token, cache, self.scratch),
                    rlimits=_rlimits(setup.limits),
                    writable=writable_by(self.scratch, cache, grade),
                    lent=lent,
                    hidden=[str(setup.locks)] if setup.locks is not None else [],
                ),
                setup.nursery if setup.command is worker_command else None,
            )
        self.status = self._keeper.status
        self.channel = Channel(self._requests, self._replies, self.status)
        self.watch = Watch(
            output=self._keeper.output,
            keeper=self._keeper.pid,
            token=self.token,
            scratch=self.scratch,
            limits=setup.limits,
            quiet=setup.quiet,
        )
        self.watch.start()

    def kill(self) -> None:
        """End everything that the child started; its pipes and arenas stay, so that its end can be looked at."""
        # What has not started yet could not be found.
        self.status.wait_for_start(START_S)
        left = end_tree(self._keeper.pid, self.token)
        if left:
            LOG.warning("processes %s of a child could not be ended", sorted(left))

    def end(self, *, in_peace: bool = False) -> None:
        """End the child, whatever it left behind, its keeper, its scratch folder and its memory; idempotent.

        ``in_peace`` says that it was waiting for a question: what it wrote into the trusted cache is then complete.
        """
        if self._is_ended:
            return
        self._is_ended = True
        self.kill()
        self._keeper.kill()
        self.kill()
        self.watch.stop()
        os.close(self._requests)
        os.close(self._replies)
        self._keeper.close()
        self.given.close()
        self.made.close()
        if self._loan is not None:
            self._loan.end(in_peace=in_peace)
        shutil.rmtree(self.scratch, ignore_errors=True)


def environment_of(setup: Setup, token: str, cache: Path | None, scratch: Path) -> dict[str, str]:
    """The environment of a child whose files go below ``scratch``."""
    return child_environment(scratch=scratch, token=token, threads=setup.threads, cache=cache, extra=setup.extra)


def _rlimits(limits: Limits) -> dict[str, int]:
    bounds = {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": limits.disk_bytes,
        "RLIMIT_NOFILE": min(limits.open_files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
    }
    if limits.address_bytes is not None:
        bounds["RLIMIT_AS"] = limits.address_bytes
    return bounds
