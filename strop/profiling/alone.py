"""How long one kernel takes, launched by itself again and again with nothing left in the caches."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch

WARM_LAUNCHES = 2
LAUNCHES = 9


def launch_time_ns(launch: Callable[[], object], cache_bytes: int) -> float:
    """Median time of a launch on the current device by its own events, in nanoseconds.

    Args:
        launch: starts the kernel on the current stream and nothing else.
        cache_bytes: size of the largest cache; twice as much is written before each launch.
    """
    scratch = torch.empty(2 * cache_bytes, dtype=torch.uint8, device="cuda")
    for _ in range(WARM_LAUNCHES):
        launch()
    marks = [tuple(torch.cuda.Event(enable_timing=True) for _ in range(2)) for _ in range(LAUNCHES)]
    for before, after in marks:
        scratch.zero_()
        before.record()
        launch()
        after.record()
    torch.cuda.synchronize()
    return statistics.median(before.elapsed_time(after) for before, after in marks) * 1e6
