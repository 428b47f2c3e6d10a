"""What torch.profiler saw of a few calls, as plain trees of ranges with the device kernels that they launched.

The trace is read as the file that the profiler exports: of an accelerator it alone tells which call to the driver
launched which kernel, and what each launch takes. Source: PyTorch's profiler, the Kineto library's trace in the Chrome
trace event format.
"""

from __future__ import annotations

import json
import math
import statistics
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch.autograd.profiler import record_function
from torch.profiler import ProfilerActivity, profile

from strop.records.profile import KernelResources
from strop.records.tensor import HOST
from strop.targets._devices import on_host

MARK = "strop::call"
WARM_UP_CALLS = 2
# On an accelerator calls are timed in blocks at least this long, so that waiting for the end of a block is nothing.
BLOCK_NS = 20e6
MAX_BLOCK_CALLS = 1000
GRAPH_LAUNCH = "cudaGraphLaunch"

_NUMBER = "External id"
_RANGES = ("cpu_op", "user_annotation")
_DRIVER_CALLS = ("cuda_runtime", "cuda_driver")
_DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel, copy or fill that a device ran."""

    name: str
    duration_ns: float
    resources: KernelResources | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """One range and the ranges within it, in order of their start. ``duration_ns`` is the time of the device that ran
    what was started in it: on the host that is the range itself, elsewhere the kernels that it launched. ``launches``
    are those that it launched itself, not a range within it.
    """

    name: str
    duration_ns: float
    children: tuple[Span, ...] = ()
    launches: tuple[Launch, ...] = ()

    def walk(self) -> Iterator[Span]:
        """The span and everything within it, outer before inner, in order of time."""
        yield self
        for child in self.children:
            yield from child.walk()

    def launched(self) -> list[Launch]:
        """Everything that was launched in it."""
        return [launch for span in self.walk() for launch in span.launches]


def plain_call_ns(call: Callable[[], object], calls: int, settle: Callable[[], object], device: str = HOST) -> float:
    """Median time of a call with no profiler around it.

    ``settle`` returns when everything that was started has ended. On an accelerator calls follow one another without
    it, as they do in a running model, and a block of them is timed until its end.
    """
    for _ in range(WARM_UP_CALLS):
        call()
    settle()
    first_ns = _block_ns(call, 1, settle)
    block = 1 if on_host(device) else max(1, min(MAX_BLOCK_CALLS, math.ceil(BLOCK_NS / first_ns)))
    return float(statistics.median(_block_ns(call, block, settle) / block for _ in range(calls)))


def _block_ns(call: Callable[[], object], calls: int, settle: Callable[[], object]) -> float:
    began = time.perf_counter_ns()
    for _ in range(calls):
        call()
    settle()
    return float(max(1, time.perf_counter_ns() - began))


def trace_calls(
    call: Callable[[], object], calls: int, settle: Callable[[], object], device: str = HOST
) -> tuple[Span, ...]:
    """One span per call, holding every operator and kernel range of the calling thread, and every kernel that the
    device ran for it exactly once.
    """
    return calls_of(_events(call, calls, settle, device), device)


def launches_graphs(call: Callable[[], object], settle: Callable[[], object], device: str) -> bool:
    """True when a call hands the device whole graphs of kernels, which leave no ranges of their own."""
    if on_host(device):
        return False
    return any(str(event.get("name", "")).startswith(GRAPH_LAUNCH) for event in _events(call, 1, settle, device))


def _events(call: Callable[[], object], calls: int, settle: Callable[[], object], device: str) -> Sequence[Event]:
    activities = [ProfilerActivity.CPU] if on_host(device) else [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    settle()
    with profile(activities=activities) as profiler:
        for _ in range(calls):
            with record_function(MARK):
                call()
        settle()
    with tempfile.TemporaryDirectory(prefix="trace-") as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        # Names of kernels are not ours, and some hold control characters.
        return json.loads(file.read_text(encoding="utf-8", errors="replace"), strict=False)["traceEvents"]


@dataclass(slots=True)
class _Range:
    """A range while its tree is built."""

    name: str
    began_ns: float
    ended_ns: float
    number: object = None
    children: list[_Range] = field(default_factory=list)
    launches: list[tuple[float, Launch]] = field(default_factory=list)

    def walk(self) -> Iterator[_Range]:
        """The range and everything within it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def innermost(self, at_ns: float) -> _Range:
        """The smallest range around a moment."""
        for child in self.children:
            if child.began_ns <= at_ns <= child.ended_ns:
                return child.innermost(at_ns)
        return self

    def span(self, is_host: bool) -> Span:
        """The finished tree."""
        children = tuple(child.span(is_host) for child in self.children)
        launches = tuple(launch for _, launch in sorted(self.launches, key=lambda each: each[0]))
        busy = sum(child.duration_ns for child in children) + sum(launch.duration_ns for launch in launches)
        return Span(self.name, self.ended_ns - self.began_ns if is_host else busy, children, launches)


def calls_of(events: Sequence[Event], device: str = HOST) -> tuple[Span, ...]:
    """The calls of a trace, each as the tree of its ranges; every kernel of the device is in exactly one range.

    A kernel belongs to the smallest range around the driver's call that launched it, on the thread of that call; where
    that call was not recorded, to the range that the profiler itself names (``External id``). One of which neither is
    known, or that another thread launched, belongs to the whole call that was then going on.
    """
    whole = [event for event in events if event.get("ph") == "X"]
    marks = [event for event in whole if event.get("name") == MARK and event.get("cat") in _RANGES]
    if not marks:
        return ()
    thread = _thread(marks[0])
    calls = [_Range(MARK, *_times_ns(mark)) for mark in marks]
    calls.sort(key=lambda each: each.began_ns)
    ranges = [event for event in whole if event.get("cat") in _RANGES and _thread(event) == thread]
    _nest(calls, [_range(each) for each in ranges if each["name"] != MARK])
    _hang(calls, whole, thread)
    return tuple(call.span(on_host(device)) for call in calls)


def _range(event: Event) -> _Range:
    return _Range(str(event["name"]), *_times_ns(event), number=event.get("args", {}).get(_NUMBER))


def _nest(calls: Sequence[_Range], ranges: list[_Range]) -> None:
    """Put every range into the smallest one around it; what lies in no call is dropped."""
    ranges.sort(key=lambda each: (each.began_ns, -each.ended_ns))
    for call in calls:
        open_ranges = [call]
        for each in ranges:
            if not (call.began_ns <= each.began_ns and each.ended_ns <= call.ended_ns):
                continue
            while each.began_ns >= open_ranges[-1].ended_ns and len(open_ranges) > 1:
                open_ranges.pop()
            open_ranges[-1].children.append(each)
            open_ranges.append(each)


def _hang(calls: Sequence[_Range], events: Sequence[Event], thread: object) -> None:
    """Give every kernel of the device to the range that launched it."""
    launched_by = {
        event["args"]["correlation"]: event
        for event in events
        if event.get("cat") in _DRIVER_CALLS and "correlation" in event.get("args", {})
    }
    begins = [call.began_ns for call in calls]
    numbered = {each.number: each for call in calls for each in call.walk() if each.number is not None}
    for event in events:
        if event.get("cat") not in _DEVICE_WORK:
            continue
        began_ns = _times_ns(event)[0]
        launcher = launched_by.get(event.get("args", {}).get("correlation"))
        if launcher is None and (named := numbered.get(event.get("args", {}).get(_NUMBER))) is not None:
            named.launches.append((began_ns, _launch(event)))
            continue
        at_ns = _times_ns(launcher)[0] if launcher is not None else began_ns
        which = bisect_right(begins, at_ns) - 1
        if which < 0:
            continue
        is_ours = launcher is not None and _thread(launcher) == thread and at_ns <= calls[which].ended_ns
        owner = calls[which].innermost(at_ns) if is_ours else calls[which]
        owner.launches.append((began_ns, _launch(event)))


def _launch(event: Event) -> Launch:
    args = event.get("args", {})
    began_ns, ended_ns = _times_ns(event)
    name = str(event.get("name", ""))
    if event["cat"] != "kernel" or "grid" not in args or "block" not in args:
        return Launch(name, ended_ns - began_ns)
    grid, block = ([int(size) for size in args[key]] for key in ("grid", "block"))
    resources = KernelResources(
        grid=(grid[0], grid[1], grid[2]),
        block=(block[0], block[1], block[2]),
        registers=int(args.get("registers per thread", 0)),
        shared_bytes=int(args.get("shared memory", 0)),
    )
    return Launch(name, ended_ns - began_ns, resources)


def _thread(event: Event) -> object:
    return event.get("tid")


def _times_ns(event: Event) -> tuple[float, float]:
    """Begin and end; the file has microseconds with three decimals."""
    began_ns = round(float(event["ts"]) * 1000)
    return began_ns, began_ns + round(float(event.get("dur", 0.0)) * 1000)
