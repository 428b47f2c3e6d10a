"""Why a kernel is not faster, with the evidence in words: counters where there are any, else its place below the
ceilings and what it takes of a multiprocessor.
"""

from __future__ import annotations

from dataclasses import dataclass

from strop.records.profile import Bound, KernelCounters, KernelProfile, KernelResources
from strop.records.target import Target
from strop.stats.roofline import compute_ns, memory_ns

# From this share of what the device can sustain on, a resource is what the kernel waits for.
BUSY = 0.6
# Below this occupancy, and below so many waves of blocks, the launch itself is worth a word.
LOW_OCCUPANCY = 0.5
FULL_WAVES = 1.0
# Faster than a copy from memory by more than this: caches must have served it.
BEYOND_MEMORY = 1.05

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The call around a kernel: for which share of it kernels run, and how long the device waits per launch."""

    busy_ratio: float
    gap_ns: float


def setting_of(call_ns: float, kernels: tuple[KernelProfile, ...]) -> Setting:
    """The setting of all kernels of one call."""
    spent = sum(kernel.time_ns for kernel in kernels)
    launches = sum(_launches(kernel) for kernel in kernels if kernel.time_ns > 0)
    return Setting(
        busy_ratio=min(1.0, spent / call_ns) if call_ns > 0 else 0.0,
        gap_ns=max(0.0, call_ns - spent) / max(1, launches),
    )


def diagnose(kernel: KernelProfile, target: Target, dtype: str, setting: Setting) -> tuple[Bound, str]:
    """What binds ``kernel``, and why that is said; ``dtype`` is the element type whose product rate is its ceiling.

    ``kernel.bound`` is the roofline's word. A launch counts where the device waits longer for each launch than it then
    works; counters, where there are any, overrule the roofline.
    """
    if not kernel.calls:
        return kernel.bound, ""
    each_ns = kernel.time_ns / max(1, _launches(kernel))
    if target.multiprocessor is not None and each_ns < setting.gap_ns:
        return Bound.LAUNCH, _launch_words(each_ns, setting)
    counted = _by_counters(kernel.counters)
    bound = counted or kernel.bound
    parts = [_counter_words(kernel.counters)] if counted and kernel.counters else [_rates(kernel, target, dtype)]
    if kernel.resources is not None:
        parts += _resource_words(kernel.resources, kernel.counters, target)
    return bound, "; ".join(part for part in parts if part)


def _launches(kernel: KernelProfile) -> int:
    return sum(each.calls for each in kernel.launched) or kernel.calls


def _launch_words(each_ns: float, setting: Setting) -> str:
    return (
        f"{_amount(each_ns / 1e9, 's')} a launch, for which the device waits {_amount(setting.gap_ns / 1e9, 's')}; "
        f"kernels are busy {_percent(setting.busy_ratio)} of the call"
    )


def _by_counters(counters: KernelCounters | None) -> Bound | None:
    if counters is None or counters.memory_ratio is None or counters.compute_ratio is None:
        return None
    if max(counters.memory_ratio, counters.compute_ratio) < BUSY:
        return Bound.LATENCY
    return Bound.MEMORY if counters.memory_ratio >= counters.compute_ratio else Bound.COMPUTE


def _counter_words(counters: KernelCounters) -> str:
    said = [
        f"{name} {_percent(ratio)}"
        for name, ratio in (
            ("memory busy", counters.memory_ratio),
            ("memory chips", counters.dram_ratio),
            ("arithmetic", counters.compute_ratio),
            ("L2 hits", counters.l2_hit_ratio),
        )
        if ratio is not None
    ]
    return f"counted: {', '.join(said)}"


def _rates(kernel: KernelProfile, target: Target, dtype: str) -> str:
    """What it reaches of the ceilings; empty where nothing is known of its work."""
    ceilings, seconds_s = target.ceilings, kernel.time_ns / 1e9
    if seconds_s <= 0 or not (kernel.moved_bytes or kernel.work_flop):
        return "what it moves and computes is not known"
    memory = memory_ns(kernel.moved_bytes, ceilings) / kernel.time_ns
    arithmetic = compute_ns(kernel.work_flop, ceilings, dtype) / kernel.time_ns
    moves = f"moves {_amount(kernel.moved_bytes / seconds_s, 'B/s')}, {_percent(memory)} of what a copy reaches"
    if memory > BEYOND_MEMORY:
        moves += ", so caches serve it"
    rate = _amount(kernel.work_flop / seconds_s, "flop/s")
    computes = f"computes {rate}, {_percent(arithmetic)} of what a product of {dtype} reaches"
    match kernel.bound:
        case Bound.MEMORY:
            return moves
        case Bound.COMPUTE:
            return computes
        case _:
            return f"{moves}; {computes}" if kernel.work_flop else moves


def _resource_words(taken: KernelResources, counters: KernelCounters | None, target: Target) -> list[str]:
    words = [f"{taken.registers} registers a thread"]
    if taken.occupancy_ratio is not None:
        limit = f", limited by {taken.limited_by}" if taken.limited_by and taken.occupancy_ratio < LOW_OCCUPANCY else ""
        words.append(f"occupancy {_percent(taken.occupancy_ratio)}{_achieved(counters)}{limit}")
    said = [", ".join(words)]
    if taken.spilled_registers:
        said.append(f"{taken.spilled_registers} registers a thread are spilled to memory")
    if taken.waves is not None and taken.waves < FULL_WAVES and target.multiprocessor is not None:
        room = f"{target.multiprocessor.count} multiprocessors hold at once"
        said.append(f"its {taken.blocks} blocks are {_percent(taken.waves)} of what {room}")
    return said


def _achieved(counters: KernelCounters | None) -> str:
    reached = counters.achieved_occupancy_ratio if counters else None
    return f" ({_percent(reached)} reached)" if reached is not None else ""


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.0f} %"


def _amount(amount: float, unit: str) -> str:
    if unit == "s":
        scale, prefix = next(
            ((scale, prefix) for scale, prefix in ((1e-3, "m"), (1e-6, "µ")) if amount >= scale), (1e-9, "n")
        )
    else:
        scale, prefix = next(((scale, prefix) for scale, prefix in _PREFIXES if amount >= scale), (1.0, ""))
    return f"{amount / scale:.3g} {prefix}{unit}"
