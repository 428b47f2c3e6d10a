"""Where the time of a compiled workload goes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from strop.records._base import Record
from strop.records.graph import KernelKind


class Bound(StrEnum):
    """What keeps a kernel from being faster."""

    MEMORY = "memory"
    COMPUTE = "compute"
    LATENCY = "latency"
    LAUNCH = "launch"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile(Record):
    """One kernel: what it costs per call of the workload, and what the compiler made.

    ``floor_ns`` is the time it would take at the target's ceilings; ``nodes`` are of graph ``graph_id``. ``kind``,
    ``launch``, ``source`` and ``hash`` are as in ``CompiledKernel``; ``kind`` is None for an operator of eager code. A
    kernel with no ``calls`` left no range in the trace: its time is unknown and part of the overhead.
    """

    name: str
    language: str
    nodes: tuple[str, ...]
    calls: int
    time_ns: float
    share: float
    moved_bytes: int
    work_flop: int
    bound: Bound
    floor_ns: float
    graph_id: str = ""
    kind: KernelKind | None = None
    launch: str = ""
    source: str = ""
    hash: str = ""

    @property
    def headroom_ns(self) -> float:
        """Time above the floor: what a perfect kernel could win."""
        return max(0.0, self.time_ns - self.floor_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Record):
    """All kernels, heaviest first. ``call_ns`` is measured from outside; ``overhead_ns`` is what no kernel accounts
    for.
    """

    workload_id: str
    target: str
    call_ns: float
    overhead_ns: float
    kernels: tuple[KernelProfile, ...]
    notes: tuple[str, ...] = ()
