"""What torch.profiler saw of a few calls, as plain trees of time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch.autograd.profiler import record_function
from torch.profiler import ProfilerActivity, profile

MARK = "strop::call"
WARM_UP_CALLS = 2


@dataclass(frozen=True, slots=True)
class Span:
    """One range of time and the ranges within it, in order of their start."""

    name: str
    duration_ns: float
    children: tuple[Span, ...] = ()

    def walk(self) -> Iterator[Span]:
        """The span and everything within it, outer before inner, in order of time."""
        yield self
        for child in self.children:
            yield from child.walk()


def plain_call_ns(call: Callable[[], object], calls: int) -> float:
    """Median time of a call with no profiler around it."""
    for _ in range(WARM_UP_CALLS):
        call()
    times = []
    for _ in range(calls):
        began = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - began)
    return float(statistics.median(times))


def trace_calls(call: Callable[[], object], calls: int) -> tuple[Span, ...]:
    """One span per call, holding every operator and kernel range of the calling thread."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(calls):
            with record_function(MARK):
                call()
    return tuple(_span(event) for event in profiler.events() or () if event.name == MARK)


def _span(event: Any) -> Span:
    children = sorted(event.cpu_children, key=lambda child: child.time_range.start)
    return Span(
        name=event.name,
        duration_ns=float(event.time_range.elapsed_us()) * 1000.0,
        children=tuple(_span(child) for child in children),
    )
