"""How many warps of a kernel a multiprocessor can hold at once, from what one launch takes.

Source of the rules: NVIDIA, CUDA C++ Programming Guide, Multiprocessor Level, and the CUDA occupancy calculator.
"""

from __future__ import annotations

import math
from dataclasses import replace

from strop.records.profile import KernelResources
from strop.records.target import Multiprocessor

# Registers are handed out to a warp in units of so many, from the quarter of the file that belongs to its scheduler.
REGISTER_UNIT = 256
SCHEDULERS = 4
SHARED_UNIT_BYTES = 128


def resident_blocks(taken: KernelResources, limits: Multiprocessor) -> tuple[int, str]:
    """Blocks that one multiprocessor holds at a time, and what stands against one more; 0 where not even one fits."""
    warps = _warps(taken, limits)
    room = {
        "warps": limits.threads // limits.warp_threads // warps,
        "blocks": limits.blocks,
        "registers": _by_registers(taken.registers, warps, limits),
        "shared memory": _by_shared_memory(taken.shared_bytes, limits),
    }
    least = min(room.values())
    return least, next(name for name, blocks in room.items() if blocks == least)


def with_occupancy(taken: KernelResources, limits: Multiprocessor | None) -> KernelResources:
    """The same with its theoretical occupancy; unchanged where the limits are not known or not even one block fits."""
    if limits is None:
        return taken
    blocks, limit = resident_blocks(taken, limits)
    if blocks == 0:
        return taken
    resident = blocks * _warps(taken, limits)
    most = limits.threads // limits.warp_threads
    return replace(
        taken,
        occupancy_ratio=min(1.0, resident / most),
        limited_by="" if resident >= most else limit,
        waves=taken.blocks / (blocks * limits.count),
    )


def _warps(taken: KernelResources, limits: Multiprocessor) -> int:
    return max(1, math.ceil(taken.block_threads / limits.warp_threads))


def _by_registers(registers: int, warps: int, limits: Multiprocessor) -> int:
    if registers <= 0:
        return limits.blocks
    per_warp = math.ceil(registers * limits.warp_threads / REGISTER_UNIT) * REGISTER_UNIT
    return limits.registers // SCHEDULERS // per_warp * SCHEDULERS // warps


def _by_shared_memory(shared_bytes: int, limits: Multiprocessor) -> int:
    taken_bytes = shared_bytes + limits.reserved_shared_bytes
    if taken_bytes <= 0:
        return limits.blocks
    return limits.shared_bytes // (math.ceil(taken_bytes / SHARED_UNIT_BYTES) * SHARED_UNIT_BYTES)
