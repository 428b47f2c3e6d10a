"""What the operating system knows about this machine's processor: model, features, caches."""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path

from strop.records.target import MemoryLevel

# glibc's numbers of _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE and _SC_LEVEL3_CACHE_SIZE (bits/confname.h).
_SYSCONF = {"L1": 188, "L2": 191, "L3": 194}
# Where nothing is known, timing shall rather rotate through too much memory than through too little.
UNKNOWN_CACHE_BYTES = 64 * 1024 * 1024
_FEATURES = ("avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "asimd", "sve", "bf16")
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


def model_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name as its maker writes it, else its architecture."""
    fields = _cpuinfo(cpuinfo)
    return fields.get("model name") or platform.processor() or platform.machine()


def features(cpuinfo: Path = Path("/proc/cpuinfo")) -> tuple[str, ...]:
    """The instruction sets that decide about speed."""
    fields = _cpuinfo(cpuinfo)
    present = set(fields.get("flags", fields.get("Features", "")).split())
    return tuple(name for name in _FEATURES if name in present)


def usable_cores() -> int:
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0))


def cache_levels(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> tuple[MemoryLevel, ...]:
    """Data caches as one core sees them, nearest first; asked of sysfs, else of the C library, else assumed."""
    found = _from_sysfs(folder) or _from_sysconf() or {"L3": UNKNOWN_CACHE_BYTES}
    return tuple(MemoryLevel(name=name, size_bytes=size) for name, size in sorted(found.items()))


def memory_bytes() -> int:
    """Physical memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _cpuinfo(path: Path) -> dict[str, str]:
    fields: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if not line.strip():
                break
            name, _, value = line.partition(":")
            fields[name.strip()] = value.strip()
    return fields


def _from_sysfs(folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for index in sorted(folder.glob("index*")):
        with contextlib.suppress(OSError, ValueError, KeyError):
            if (index / "type").read_text(encoding="ascii").strip() == "Instruction":
                continue
            level = (index / "level").read_text(encoding="ascii").strip()
            text = (index / "size").read_text(encoding="ascii").strip()
            size = int(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else int(text)
            found[f"L{level}"] = max(size, found.get(f"L{level}", 0))
    return found


def _from_sysconf() -> dict[str, int]:
    found: dict[str, int] = {}
    for name, number in _SYSCONF.items():
        with contextlib.suppress(OSError, ValueError):
            size = os.sysconf(number)
            if size > 0:
                found[name] = size
    return found
