"""What a child may use before it is ended. Every limit that is broken has a word of its own in the verdict."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from strop.records.evidence import Stage

MIB = 1024 * 1024
GIB = 1024 * MIB

_SECONDS: Mapping[Stage, float] = {
    Stage.POLICY: 30.0,
    Stage.BUILD: 300.0,
    Stage.INTERFACE: 60.0,
    Stage.VALUES: 120.0,
    Stage.PARAMETERS: 120.0,
    Stage.STATE: 60.0,
    Stage.SHAPES: 300.0,
    Stage.TIME: 120.0,
    Stage.PLAUSIBILITY: 60.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds for one child and everything that it starts.

    ``seconds_s`` holds the longest wait for one answer, per stage. ``memory_bytes`` bounds the resident memory of the
    whole process tree, the lent arenas not counted; ``disk_bytes`` the scratch folder and every single file;
    ``output_bytes`` what is printed. ``address_bytes`` bounds the address space and must stay None where a driver
    reserves more of it than the machine has memory.
    """

    memory_bytes: int
    output_bytes: int = 8 * MIB
    disk_bytes: int = 4 * GIB
    processes: int = 256
    open_files: int = 4096
    address_bytes: int | None = None
    seconds_s: Mapping[Stage, float] = field(default_factory=lambda: dict(_SECONDS))


def machine_limits(memory_share: float = 0.6) -> Limits:
    """Limits that leave this machine alive: a child may hold ``memory_share`` of its memory."""
    return Limits(memory_bytes=int(machine_memory_bytes() * memory_share))


def machine_memory_bytes(control_group: Path = Path("/sys/fs/cgroup")) -> int:
    """Memory of this machine, or of the container around this process where that is less: cgroups(7), both versions."""
    total = psutil.virtual_memory().total
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int((control_group / name).read_text(encoding="ascii")))
    return total
