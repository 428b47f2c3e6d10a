"""Time: blocks of calls measured from outside, the conditions they were taken under, and what comparing them says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from strop.records._base import Record

BASELINE = "baseline"
CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions(Record):
    """What must be equal for samples to be compared. ``versions`` holds (package, version) pairs."""

    machine: str
    device: str
    threads: int
    contract: str
    versions: tuple[tuple[str, str], ...]

    def difference(self, other: Conditions) -> str:
        """Name the first field that differs, or an empty string."""
        for name in ("machine", "device", "threads", "contract", "versions"):
            if getattr(self, name) != getattr(other, name):
                return f"{name}: {getattr(self, name)} against {getattr(other, name)}"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Record):
    """``calls`` calls timed as one from outside. ``side`` is BASELINE or CANDIDATE.

    ``elapsed_ns`` is raw; ``null_ns`` the hand-off cost of the null worker for the same block.
    """

    side: str
    pair: int
    process: int
    calls: int
    elapsed_ns: int
    null_ns: int

    @property
    def call_ns(self) -> float:
        """Time of one call, hand-off subtracted, never below one nanosecond."""
        return max(1.0, (self.elapsed_ns - self.null_ns) / self.calls)


class TimeDecision(StrEnum):
    """What the samples allow to say."""

    FASTER = "faster"
    SLOWER = "slower"
    UNDECIDED = "undecided"


OPEN_SPEEDUP = 1000.0
"""Noise can make a saving look like the whole call; a figure that high says only that it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chained(Record):
    """What chained rounds say, in which each call's inputs follow from the results of the call before it. ``speedup``
    is what it would be if a call saved what it saves there, ``low`` and ``high`` its 95 % interval; none is above
    `OPEN_SPEEDUP`.

    The rest are shares of the baseline's call: ``shift_ratio`` what being chained adds to it itself, ``glue_ratio``
    what the making of its inputs takes, ``lost_ratio`` what the candidate saves otherwise and not there, and
    ``least_lost_ratio`` what is left of that after the shift and noise: above 0 a saving was lost.
    """

    speedup: float
    low: float
    high: float
    lost_ratio: float
    least_lost_ratio: float
    shift_ratio: float
    glue_ratio: float
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Record):
    """Paired timing of a candidate against the baseline. ``speedup`` is the median ratio, ``low`` and ``high`` its 95
    % interval.

    ``raw_speedup`` is the ratio with nothing subtracted; ``kernel_speedup`` compares device or CPU-kernel time alone;
    ``noise_ratio`` is the spread of the baseline against itself in the same samples. ``chained`` is None where calls
    were not chained.
    """

    baseline: str
    baseline_ns: float
    candidate_ns: float
    speedup: float
    low: float
    high: float
    raw_speedup: float
    decision: TimeDecision
    pairs: int
    processes: int
    kernel_speedup: float | None
    peak_memory_ratio: float | None
    noise_ratio: float
    conditions: Conditions
    blocks: tuple[Block, ...] = ()
    chained: Chained | None = None
