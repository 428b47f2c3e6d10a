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
class KernelResources(Record):
    """What one launch takes, and how much of a multiprocessor that leaves for others.

    ``registers`` are per thread, ``shared_bytes`` per block; ``spilled_registers`` per thread live in memory because
    they did not fit. ``occupancy_ratio`` is the share of a multiprocessor's warps that can be resident, ``limited_by``
    what stands against more, ``waves`` how often the grid fills the whole device. None: not known.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    shared_bytes: int
    spilled_registers: int | None = None
    stages: int | None = None
    occupancy_ratio: float | None = None
    limited_by: str = ""
    waves: float | None = None

    @property
    def block_threads(self) -> int:
        """Threads of one block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        """Blocks of the whole grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCounters(Record):
    """What the device's own counters say about one launch; None where the counter does not exist there.

    ``memory_ratio`` and ``compute_ratio`` are of what the device could sustain, ``dram_ratio`` that of its memory chips
    alone. ``achieved_occupancy_ratio`` is the share of warps that were resident. ``local_bytes`` went to thread-private
    memory, which is where spilled registers go. ``rules`` are the profiler's own advice, weightiest first.
    """

    time_ns: float | None = None
    memory_ratio: float | None = None
    compute_ratio: float | None = None
    dram_ratio: float | None = None
    dram_bytes: float | None = None
    l2_hit_ratio: float | None = None
    achieved_occupancy_ratio: float | None = None
    occupancy_ratio: float | None = None
    local_bytes: float | None = None
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedLaunch(Record):
    """One launch whose counters were read; ``name`` as the tool that read them writes it."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counters: KernelCounters


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Record):
    """What a tool counted, in the order of the launches; ``because`` says why there is nothing."""

    launches: tuple[CountedLaunch, ...] = ()
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceKernel(Record):
    """What an accelerator really ran: ``name`` as its driver knows it, ``time_ns`` the total of its ``calls`` launches
    per call of the workload, ``library`` whose it is in words; empty for the compiler's and the user's own. Copies and
    fills have no ``resources``.
    """

    name: str
    calls: int
    time_ns: float
    library: str = ""
    resources: KernelResources | None = None
    counters: KernelCounters | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile(Record):
    """One kernel: what it costs per call of the workload, and what the compiler made.

    ``floor_ns`` is the time it would take at the target's ceilings; ``nodes`` are of graph ``graph_id``. ``kind``,
    ``launch``, ``source`` and ``hash`` are as in ``CompiledKernel``; ``kind`` is None for an operator of eager code. A
    kernel with no ``calls`` left no range in the trace: its time is unknown and part of the overhead. ``launched`` is
    what it ran on an accelerator, heaviest first; ``diagnosis`` the evidence for ``bound``, as a sentence.
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
    launched: tuple[DeviceKernel, ...] = ()
    diagnosis: str = ""

    @property
    def headroom_ns(self) -> float:
        """Time above the floor: what a perfect kernel could win."""
        return max(0.0, self.time_ns - self.floor_ns)

    @property
    def library(self) -> str:
        """Whose library the heaviest launch belongs to, in words; empty for generated kernels and on the host."""
        return self.launched[0].library if self.launched else ""

    @property
    def resources(self) -> KernelResources | None:
        """What the heaviest launch takes."""
        return self.launched[0].resources if self.launched else None

    @property
    def counters(self) -> KernelCounters | None:
        """What was counted of the heaviest launch."""
        return self.launched[0].counters if self.launched else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Record):
    """All kernels, heaviest first. ``call_ns`` is measured from outside, on an accelerator over calls in a row;
    ``overhead_ns`` is what no kernel accounts for.
    """

    workload_id: str
    target: str
    call_ns: float
    overhead_ns: float
    kernels: tuple[KernelProfile, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_launch_bound(self) -> bool:
        """Most of the call passes between kernels, or in kernels that take no longer than starting them: what is
        measured is the launches, and a gain is a launch gain.
        """
        starting_ns = sum(kernel.time_ns for kernel in self.kernels if kernel.bound is Bound.LAUNCH)
        return self.overhead_ns + starting_ns > self.call_ns / 2

    @property
    def launches(self) -> int:
        """Kernels that one call starts."""
        return sum(kernel.calls for kernel in self.kernels)
