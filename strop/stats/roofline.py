"""What the machine's ceilings allow: least times, what binds a kernel, and the time that no implementation can beat.

Source of the model: Williams, Waterman and Patterson, Roofline: an insightful visual performance model, CACM 2009.
"""

from __future__ import annotations

from strop.records.graph import KernelKind
from strop.records.profile import Bound, KernelProfile
from strop.records.target import Ceilings

# A kernel that takes more than this many times its floor is kept from it by neither memory nor arithmetic.
LATENCY_ABOVE = 3.0
# A kernel whose floor is shorter than this share of a call's overhead cannot be told from its launch.
LAUNCH_SHARE = 0.5


def memory_ns(moved_bytes: float, ceilings: Ceilings) -> float:
    """Time to move ``moved_bytes`` (reads plus writes) at the measured copy bandwidth."""
    return moved_bytes / ceilings.copy_bytes_per_s * 1e9


def compute_ns(work_flop: float, ceilings: Ceilings, dtype: str) -> float:
    """Time for ``work_flop`` at the measured product rate of ``dtype``."""
    return work_flop / ceilings.product_rate_flop_per_s(dtype) * 1e9


def floor_ns(moved_bytes: float, work_flop: float, ceilings: Ceilings, dtype: str) -> float:
    """Least time of a kernel at the ceilings: the larger of its memory and its arithmetic time (they overlap)."""
    return max(memory_ns(moved_bytes, ceilings), compute_ns(work_flop, ceilings, dtype))


def bound_of(time_ns: float, moved_bytes: float, work_flop: float, ceilings: Ceilings, dtype: str) -> Bound:
    """What keeps a kernel that takes ``time_ns`` per launch from being faster.

    ``LAUNCH``: it takes hardly longer than starting it, or its floor is far below that. ``LATENCY``: it takes more than
    three times its floor, so neither resource is busy. Else the resource with the larger time.
    """
    memory, compute = memory_ns(moved_bytes, ceilings), compute_ns(work_flop, ceilings, dtype)
    floor = max(memory, compute)
    overhead = ceilings.call_overhead_ns
    if time_ns <= 2 * overhead and floor < LAUNCH_SHARE * overhead:
        return Bound.LAUNCH
    if time_ns > LATENCY_ABOVE * floor:
        return Bound.LATENCY
    return Bound.MEMORY if memory >= compute else Bound.COMPUTE


def profile_kernel(
    *,
    name: str,
    language: str,
    nodes: tuple[str, ...],
    calls: int,
    time_ns: float,
    call_ns: float,
    moved_bytes: int,
    work_flop: int,
    ceilings: Ceilings,
    dtype: str,
    graph_id: str = "",
    kind: KernelKind | None = None,
    launch: str = "",
    source: str = "",
) -> KernelProfile:
    """One kernel beside the ceilings.

    ``time_ns``, ``moved_bytes`` and ``work_flop`` are totals per call of the workload, over the ``calls`` launches in
    it; ``call_ns`` is the time of that call, of which the kernel has ``share``.
    """
    launches = max(1, calls)
    return KernelProfile(
        name=name,
        language=language,
        nodes=nodes,
        calls=calls,
        time_ns=time_ns,
        share=time_ns / call_ns if call_ns > 0 else 0.0,
        moved_bytes=moved_bytes,
        work_flop=work_flop,
        bound=bound_of(time_ns / launches, moved_bytes / launches, work_flop / launches, ceilings, dtype),
        floor_ns=floor_ns(moved_bytes, work_flop, ceilings, dtype),
        graph_id=graph_id,
        kind=kind,
        launch=launch,
        source=source,
    )


def headroom_ratio(time_ns: float, floor_ns: float) -> float:
    """How many times the floor something takes, at least 1; 1 when no floor is known: nothing can be promised."""
    return max(1.0, time_ns / floor_ns) if floor_ns > 0 else 1.0


def physical_floor_ns(minimal_bytes: int, cache_bytes: int, product_flop: int, ceilings: Ceilings) -> float:
    """Time that no implementation of the whole call can beat on this machine.

    ``minimal_bytes`` are inputs plus outputs; what the last-level cache may still hold (``cache_bytes``) need not move.
    ``product_flop`` are the multiplications that no algebra of the graph removes, at the fastest rate of any element
    type. Both err towards a floor too low: what falls below it is impossible and not just surprising.
    """
    fastest = max((rate for _, rate in ceilings.product_flop_per_s), default=0.0)
    arithmetic = product_flop / fastest * 1e9 if fastest > 0 else 0.0
    return max(memory_ns(max(0, minimal_bytes - cache_bytes), ceilings), arithmetic)
