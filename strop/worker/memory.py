"""AskMemory: the peak of one call above what stood before."""

from __future__ import annotations

import ctypes
import gc
import resource
from collections.abc import Callable
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
RESOLUTION_BYTES = 1 << 20


def host_peak_bytes(call: Callable[[], object]) -> int:
    """Highest resident memory while ``call`` runs, less the resident memory before it; pages are what is counted.

    Less than a megabyte cannot be told from the allocator's own coming and going, and counts as nothing.

    Linux resets a process's high-water mark on request (proc(5), clear_refs); where that is forbidden, the mark of
    the whole process is used, which can only make the figure smaller.
    """
    gc.collect()
    _give_back_free_memory()
    can_reset = _reset_peak()
    before = _status_bytes("VmRSS")
    result = call()
    peak = _status_bytes("VmHWM") if can_reset else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    del result
    used = peak - before
    return used if used >= RESOLUTION_BYTES else 0


def _give_back_free_memory() -> None:
    """What the allocator holds in reserve would hide what a call needs."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return


def _reset_peak() -> bool:
    try:
        _CLEAR_REFS.write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        return False
    return True


def _status_bytes(name: str) -> int:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0
