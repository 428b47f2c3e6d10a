"""What a run came to: the answer of the main job, computed from its events alone."""

from __future__ import annotations

from dataclasses import dataclass

from strop.records._base import Record
from strop.records.decision import Keep
from strop.records.event import StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Record):
    """A candidate that replaces the compiler's version; a ``confirmed`` one was judged and timed again in fresh
    processes.

    An unconfirmed one passed every check and was faster at screening, but the run stopped before its confirmation; its
    speedup was used to choose it and is therefore flattering.
    """

    keep: Keep
    confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult(Record):
    """The result of one run.

    ``baselines_same`` pairs a baseline with the one that gives the same code here and whose time it has.
    ``kept`` is None when the compiler's version stays. ``failed`` counts candidates by the check that stopped them;
    ``pending`` those that were proposed but not yet judged. ``reason`` is None while the run has not ended.
    """

    run: str
    workload: str
    workload_id: str
    target: str
    contract: str
    baselines_ns: tuple[tuple[str, float], ...]
    baselines_failed: tuple[tuple[str, str], ...]
    baseline: str | None
    kept: Kept | None
    without_work_removed: Kept | None
    without_compiler: Kept | None
    proposed: int
    failed: tuple[tuple[str, int], ...]
    inconclusive: int
    not_faster: int
    pending: int
    device_seconds_s: float
    wall_seconds_s: float
    tokens: int
    because: str
    reason: StopReason | None
    baselines_same: tuple[tuple[str, str], ...] = ()

    @property
    def interrupted(self) -> bool:
        """True when the run was stopped from outside and can be resumed."""
        return self.reason in (None, StopReason.INTERRUPTED, StopReason.FAULT)

    @property
    def exit_code(self) -> int:
        """What the program that ran it returns: 0 done, 3 inconclusive, 130 interrupted, 4 a fault or no end."""
        match self.reason:
            case StopReason.INTERRUPTED:
                return 130
            case StopReason.INCONCLUSIVE:
                return 3
            case None | StopReason.FAULT:
                return 4
            case _:
                return 0
