"""What torch.profiler saw of a few calls, as plain trees of time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch._C._autograd import DeviceType
from torch.autograd.profiler import record_function
from torch.profiler import ProfilerActivity, profile

from strop.records.tensor import HOST
from strop.targets._devices import on_host

MARK = "strop::call"
WARM_UP_CALLS = 2


@dataclass(frozen=True, slots=True)
class Span:
    """One range and the ranges within it, in order of their start. ``duration_ns`` is the time of the device that ran
    what was started in it: on the host that is the range itself, elsewhere the kernels that it launched.
    """

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


def trace_calls(call: Callable[[], object], calls: int, device: str = HOST) -> tuple[Span, ...]:
    """One span per call, holding every operator and kernel range of the calling thread. ``call`` returns when its work
    on ``device`` has ended.
    """
    activities = [ProfilerActivity.CPU] if on_host(device) else [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities) as profiler:
        for _ in range(calls):
            with record_function(MARK):
                call()
    took_us = _elapsed_us if on_host(device) else _launched_us
    events = profiler.events() or ()
    # The profiler lists a range a second time, on the device, where it launched kernels there.
    return tuple(_span(each, took_us) for each in events if each.name == MARK and each.device_type == DeviceType.CPU)


def _span(event: Any, took_us: Callable[[Any], float]) -> Span:
    children = sorted(event.cpu_children, key=lambda child: child.time_range.start)
    return Span(
        name=event.name,
        duration_ns=took_us(event) * 1000.0,
        children=tuple(_span(child, took_us) for child in children),
    )


def _elapsed_us(event: Any) -> float:
    return float(event.time_range.elapsed_us())


def _launched_us(event: Any) -> float:
    """Device time of all kernels that were launched within a range."""
    return float(event.device_time_total)
