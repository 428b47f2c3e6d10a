"""The wall on this machine: fresh children on demand, and the lock of each device."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType

from strop.records.profile import Counted
from strop.sandbox import nsight
from strop.sandbox.cache import TrustedCache
from strop.sandbox.child import Child
from strop.sandbox.isolation import Grade, best_grade
from strop.sandbox.lease import Lease
from strop.sandbox.limits import Limits, machine_limits
from strop.sandbox.nursery import NO_TOKEN, Nursery
from strop.sandbox.pool import Pool
from strop.sandbox.process import Command, Setup, environment_of, worker_command
from strop.sandbox.scripted import run_script
from strop.settings import Settings
from strop.wire.messages import ChildRole, RequestMessage

COUNTED_LAUNCHES = 20

ONE_CANDIDATE = {ChildRole.CANDIDATE: 1}


class LocalWall:
    """Implements `strop.ports.WallPort` with processes of this machine. What is judged is confined by ``isolation``,
    the strongest grade that the machine gives where nothing is said; reference and baseline run with their user's
    rights.

    ``trusted_cache`` is a folder in which reference and baseline keep their compile caches from run to run; a
    candidate always has a private one. Of each role in ``ahead`` so many processes are started before
    they are asked for; with ``forks`` none need be, because all are forked of one that has imported what they need.
    ``extra`` joins the environment of every child. Use it as a context, or ``close`` it.
    """

    def __init__(
        self,
        settings: Settings,
        limits: Limits | None = None,
        *,
        threads: int | None = None,
        trusted_cache: Path | None = None,
        ahead: Mapping[ChildRole, int] = ONE_CANDIDATE,
        extra: Mapping[str, str] | None = None,
        isolation: Grade | None = None,
        command: Command = worker_command,
        forks: bool = False,
    ) -> None:
        self.limits = limits or machine_limits()
        self.isolation = isolation or best_grade()
        self._locks = settings.home / "locks"
        with suppress(OSError):
            # Who takes a lock there says what is wrong with it; what does not exist yet could not be hidden.
            self._locks.mkdir(parents=True, exist_ok=True)
        setup = Setup(
            limits=self.limits,
            threads=threads or settings.threads,
            cache=TrustedCache(trusted_cache) if trusted_cache is not None else None,
            extra=extra or {},
            command=command,
            isolation=self.isolation,
            locks=self._locks,
        )
        if forks:
            compilers = any(role is not ChildRole.CANDIDATE for role in ahead)
            environment = partial(environment_of, setup, NO_TOKEN, None)
            setup = replace(setup, nursery=Nursery(environment, compilers=compilers))
        if setup.cache is not None:
            setup.cache.heal()
        self._setup = setup
        self._pool = Pool(setup, ahead={} if forks else ahead)
        self._leases: dict[str, Lease] = {}
        self._guard = threading.Lock()

    @contextmanager
    def child(self, role: ChildRole) -> Iterator[Child]:
        """A fresh process for ``role``; leaving the context ends it and everything that it started."""
        child = Child(role, self._pool.take(role))
        try:
            yield child
        finally:
            child.close()

    def counted(
        self, role: ChildRole, requests: Sequence[RequestMessage], kernels: Sequence[str], timeout_s: float
    ) -> Counted:
        """Counters by Nsight Compute, where it is installed and permitted; see `strop.sandbox.nsight`."""
        program = nsight.find_program()
        because = nsight.forbidden() if program else f"Nsight Compute ({nsight.PROGRAM}) is not installed here."
        if because:
            return Counted(because=because)
        ended = run_script(
            self._setup,
            role,
            requests,
            lambda report: nsight.command(program, report, kernels, COUNTED_LAUNCHES),
            timeout_s,
        )
        found = nsight.read_report(ended.report)
        if found.launches:
            return found
        # What the program itself says explains more than that nothing was counted, unless counting was forbidden.
        return Counted(because=ended.because) if ended.because and not nsight.is_refusal(ended.report) else found

    def prepare(self) -> None:
        """Start the children that are kept ahead now; they warm up while the caller does something else."""
        self._pool.prepare()

    @contextmanager
    def device_lock(self, device: str, *, still: bool) -> Iterator[None]:
        """Exclusive use of ``device`` across processes; with ``still`` no child is started ahead while it is held.

        Raises:
            StoreError: the lock file cannot be made.
        """
        with self._lease(device).hold(), self._pool.still() if still else nullcontext():
            yield

    def held_s(self, device: str) -> float:
        """Seconds for which this wall has held ``device``."""
        return self._lease(device).held_s

    def close(self) -> None:
        """End the children that were started ahead, and what others are forked of; idempotent."""
        self._pool.close()
        if self._setup.nursery is not None:
            self._setup.nursery.close()

    def __enter__(self) -> LocalWall:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lease(self, device: str) -> Lease:
        with self._guard:
            return self._leases.setdefault(device, Lease(self._locks, device))
