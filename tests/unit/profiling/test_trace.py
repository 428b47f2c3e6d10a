"""A trace's file becomes one tree per call, in which every kernel of the device stands exactly once."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.profiling.trace import MARK, calls_of, plain_call_ns, trace_calls
from strop.records.profile import KernelResources

MAIN, OTHER = 11, 12
NS = 1000.0


def span(name, began, ended, thread=MAIN, category="cpu_op"):
    """A range of the host, times in nanoseconds."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 1,
        "tid": thread,
        "ts": began / NS,
        "dur": (ended - began) / NS,
    }


def mark(began, ended):
    return span(MARK, began, ended, category="user_annotation")


def launch(correlation, at, thread=MAIN, name="cuLaunchKernelEx", category="cuda_driver"):
    """The driver's call that starts a kernel."""
    return span(name, at, at + 5, thread, category) | {"args": {"correlation": correlation}}


def kernel(name, correlation, began, took, category="kernel", **args):
    """What the device ran, on a stream of its own."""
    event = span(name, began, began + took, thread=7, category=category)
    return event | {"args": {"correlation": correlation, "device": 0, **args}}


FULL = {"grid": [40, 2, 1], "block": [128, 1, 1], "registers per thread": 32, "shared memory": 1024}
TRACE = [
    {"ph": "M", "name": "process_name", "ts": 0.0, "pid": 1, "tid": 0, "args": {"name": "python"}},
    span("aten::copy_", 10, 50),
    kernel("before", 1, 20, 7),
    mark(100, 400),
    span("Torch-Compiled Region: 0/0", 110, 390),
    span("graph_0_inductor_wrapper_call", 120, 380, category="user_annotation"),
    span("triton_poi_fused_relu_0", 130, 160),
    launch(2, 140),
    span("aten::mm", 200, 300),
    span("aten::resolve_conj", 210, 220),
    launch(3, 250, name="cudaLaunchKernel", category="cuda_runtime"),
    launch(4, 260, name="cudaMemsetAsync", category="cuda_runtime"),
    mark(500, 800),
    launch(5, 520, name="cudaGraphLaunch", category="cuda_runtime"),
    launch(6, 530, thread=OTHER),
    # The device runs behind the host: all of this belongs to the calls above.
    kernel("triton_poi_fused_relu_0", 2, 450, 1000, **FULL),
    kernel("nvjet_tst_128x256", 3, 1450, 3000, **FULL),
    kernel("Memset (Device)", 4, 4450, 10, category="gpu_memset", bytes=64),
    kernel("in_a_graph", 5, 4460, 20, **FULL),
    kernel("in_a_graph", 5, 4480, 20, **FULL),
    kernel("from_elsewhere", 6, 4500, 30, **FULL),
    kernel("nobody_recorded_its_launch", 99, 4600, 40, **FULL),
    # A range that the profiler lists a second time, on the device.
    span("triton_poi_fused_relu_0", 450, 1450, thread=7, category="gpu_user_annotation"),
]


def names(spans):
    return [each.name for each in spans]


def test_every_kernel_is_in_the_range_that_launched_it():
    first, second = calls_of(TRACE, "cuda")
    assert names(first.walk()) == [
        MARK,
        "Torch-Compiled Region: 0/0",
        "graph_0_inductor_wrapper_call",
        "triton_poi_fused_relu_0",
        "aten::mm",
        "aten::resolve_conj",
    ]
    generated, product = first.children[0].children[0].children
    assert (generated.duration_ns, names(generated.launches)) == (1000, ["triton_poi_fused_relu_0"])
    assert (product.duration_ns, names(product.launches)) == (3010, ["nvjet_tst_128x256", "Memset (Device)"])
    assert first.duration_ns == 4010
    assert names(second.launches) == ["in_a_graph", "in_a_graph", "from_elsewhere", "nobody_recorded_its_launch"]
    assert second.duration_ns == 110


def test_a_launch_says_what_it_takes_and_a_fill_takes_nothing():
    product = calls_of(TRACE, "cuda")[0].children[0].children[0].children[1]
    taken = KernelResources(grid=(40, 2, 1), block=(128, 1, 1), registers=32, shared_bytes=1024)
    assert [each.resources for each in product.launches] == [taken, None]
    assert (taken.blocks, taken.block_threads) == (80, 128)


def test_on_the_host_a_range_takes_its_own_time():
    (first, _) = calls_of(TRACE)
    assert first.duration_ns == 300
    assert first.children[0].children[0].children[1].duration_ns == 100


def test_a_launch_that_was_not_recorded_is_in_the_range_that_the_profiler_names():
    named = span("triton_poi_fused_0", 110, 120) | {"args": {"External id": 31}}
    ran = kernel("triton_poi_fused_0", 9, 9000, 50, **{"External id": 31})
    (call, _) = calls_of([mark(100, 200), mark(300, 400), named, ran], "cuda")
    assert (call.duration_ns, names(call.children[0].launches)) == (50, ["triton_poi_fused_0"])


def test_a_trace_without_a_call_is_empty():
    assert calls_of([event for event in TRACE if event["name"] != MARK], "cuda") == ()


@st.composite
def traces(draw):
    """Nested ranges with launches anywhere, on any thread, some of them unrecorded."""
    events, total, moment = [], {}, 0
    for call in range(draw(st.integers(1, 3))):
        began = moment
        depth = []
        for _ in range(draw(st.integers(0, 12))):
            moment += draw(st.integers(1, 9))
            match draw(st.sampled_from(("open", "close", "launch"))):
                case "open":
                    depth.append(moment)
                case "close" if depth:
                    events.append(span(f"range{len(depth)}", depth.pop(), moment))
                case "launch":
                    number = len(events) + 1
                    took = draw(st.integers(1, 100))
                    if draw(st.booleans()):
                        events.append(launch(number, moment, draw(st.sampled_from((MAIN, OTHER)))))
                    # A kernel whose launch nobody recorded can only be told by its own time.
                    events.append(kernel("k", number, moment, took, **FULL))
                    total[call] = total.get(call, 0) + took
        moment += 1
        while depth:
            events.append(span(f"range{len(depth)}", depth.pop(), moment))
            moment += 1
        events.append(mark(began, moment))
        moment += 1
    return draw(st.permutations(events)), total


@given(traces())
def test_no_kernel_is_lost_or_counted_twice(drawn):
    events, total = drawn
    calls = calls_of(events, "cuda")
    assert {number: call.duration_ns for number, call in enumerate(calls) if call.duration_ns} == total
    for call in calls:
        assert sum(each.duration_ns for each in call.launched()) == call.duration_ns


def test_calls_of_this_machine_are_read_as_well():
    x = torch.randn(64, 64)
    settled = []
    calls = trace_calls(lambda: torch.relu(x @ x), 3, lambda: settled.append(True))
    assert names(calls) == [MARK] * 3 and len(settled) == 2
    assert [names(call.children) for call in calls] == [["aten::matmul", "aten::relu"]] * 3
    assert calls[0].children[0].children[0].name == "aten::mm"
    assert all(0 < child.duration_ns < call.duration_ns for call in calls for child in call.children)


def test_on_an_accelerator_calls_are_timed_in_a_row(monkeypatch):
    now = [0]
    monkeypatch.setattr("strop.profiling.trace.time.perf_counter_ns", lambda: now[0])

    def call():
        now[0] += 1_000_000

    def settle():
        now[0] += 500_000

    assert plain_call_ns(call, 3, settle) == 1_500_000
    in_a_row = plain_call_ns(call, 3, settle, "cuda")
    assert in_a_row == pytest.approx(1_000_000 + 500_000 / 14)
