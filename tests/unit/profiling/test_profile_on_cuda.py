"""On a GPU: the kernels of a profile add up to the device's time, each is counted once, and each says what it takes."""

import math
import os
import statistics
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from strop.capture import capture
from strop.lowering import LoweringOptions, compile_mode, lower, unchanged
from strop.pipeline.aim import build_profile
from strop.profiling import KERNEL_RANGES, profile_calls
from strop.profiling.trace import BLOCK_NS, trace_calls
from strop.records.graph import KernelKind
from strop.records.profile import Bound
from strop.records.target import Ceilings
from strop.wire.codec import encode
from strop.wiring import find_kind

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

CALLS = 5
TURNS = 3
WITHIN = 0.05
CEILINGS = Ceilings(copy_bytes_per_s=4e12, product_flop_per_s=(("float32", 5e13),), call_overhead_ns=4000.0)


@pytest.fixture(autouse=True)
def on_cuda():
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    torch.manual_seed(0)
    with torch.no_grad(), torch.device("cuda"):
        yield
    torch.cuda.empty_cache()


class Chain(nn.Module):
    """Elementwise operations and a row sum."""

    def forward(self, x):
        y = F.gelu(x * 1.5) + torch.sin(x)
        return y / (1.0 + y.abs().sum(-1, keepdim=True))


class Conv(nn.Module):
    """Convolutions, normalisation, pooling."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(64, 128, 3, padding=1),
            nn.BatchNorm2d(128),
            nn.ReLU(),
            nn.Conv2d(128, 128, 3, padding=1),
        )

    def forward(self, x):
        return self.layers(x).mean((2, 3))


class Block(nn.Module):
    """A transformer's block."""

    def __init__(self, width=1024, heads=16):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.first(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*qkv, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Product(nn.Module):
    """A matrix product with an epilogue."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8192, 8192)

    def forward(self, x):
        return F.silu(self.linear(x)) * x


WORK = {
    "chain": lambda: (Chain(), torch.randn(1 << 16, 1 << 13)),
    "conv": lambda: (Conv().eval(), torch.randn(128, 3, 224, 224)),
    "block": lambda: (Block().eval().bfloat16(), torch.randn(32, 1024, 1024).bfloat16()),
    "product": lambda: (Product().bfloat16(), torch.randn(8192, 8192).bfloat16()),
}


def outside_ns(call):
    """Device time of one call among others in a row, by the device's own events. The device is kept busy as long as the
    profile does it, block by block: whatever works for longer works at lower clocks.
    """
    call()
    first_ns = elapsed_ns(call, 1)
    block = math.ceil(BLOCK_NS / first_ns)
    return statistics.median(elapsed_ns(call, block) / block for _ in range(CALLS))


def elapsed_ns(call, calls):
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    for _ in range(calls):
        call()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e6


def in_turn(profiled, call):
    """Profiles and times from outside by turns, because a device under load changes its clocks. The last profile and
    time, and how much the kernels and the profile's own clock took of what was seen from outside, each the median.
    """
    kernels, calls, outside, reply = [], [], 0.0, None
    for _ in range(TURNS):
        before = outside_ns(call)
        reply = profiled()
        outside = (before + outside_ns(call)) / 2
        kernels.append(spent(reply) / outside)
        calls.append(reply.call_ns / outside)
    return reply, outside, statistics.median(kernels), statistics.median(calls)


def observed(module, x):
    """The compiled module as a profile calls it, what the compiler made of it, and its graphs."""
    graphs = {each.record.id: each.module for each in capture(module, (x,)).modules}
    lowered = lower(module, unchanged, LoweringOptions(observe=True, inductor=KERNEL_RANGES))
    lowered(x)
    return (lambda: lowered(x)), [graph.output for graph in lowered.graphs], graphs


def target():
    return find_kind(None).describe(CEILINGS, 1)


def keep(name, reply):
    """Leave the profile where the caller of these tests wants it."""
    folder = os.environ.get("OUT")
    if folder:
        Path(folder, f"profile-{name}.json").write_bytes(encode(build_profile("w", target(), reply)))


def spent(reply):
    return sum(sample.time_ns for sample in reply.kernels)


@pytest.mark.parametrize("name", WORK)
def test_kernels_add_up_to_the_time_from_outside(name):
    module, x = WORK[name]()
    call, outputs, graphs = observed(module, x)
    reply, outside, kernels, calls = in_turn(lambda: profile_calls(call, CALLS, outputs, graphs, "cuda"), call)
    keep(name, reply)
    assert outside >= 1e6, "too small to say anything"
    assert kernels == pytest.approx(1.0, abs=WITHIN), reply.notes
    assert calls == pytest.approx(1.0, abs=WITHIN)
    assert not [note for note in reply.notes if "left no range" in note or "add up" in note]


@pytest.mark.parametrize("name", WORK)
def test_eager_kernels_add_up_as_well(name):
    module, x = WORK[name]()
    reply, _, kernels, _ = in_turn(lambda: profile_calls(lambda: module(x), CALLS, (), {}, "cuda"), lambda: module(x))
    assert kernels == pytest.approx(1.0, abs=WITHIN), reply.notes


@pytest.mark.parametrize("name", ["conv", "block"])
def test_kernels_add_up_to_a_call_that_is_a_graph(name):
    module, x = WORK[name]()
    # Its copy into the graph's own memory is no kernel of the model.
    torch._dynamo.mark_static_address(x)
    graphed = compile_mode(module, "reduce-overhead")
    for _ in range(3):
        graphed(x)
    call, outputs, graphs = observed(module, x)

    def profiled():
        return profile_calls(call, CALLS, outputs, graphs, "cuda", timed=lambda: graphed(x))

    reply, _, kernels, calls = in_turn(profiled, lambda: graphed(x))
    assert any("CUDA graph" in note for note in reply.notes)
    assert kernels == pytest.approx(1.0, abs=WITHIN)
    assert calls == pytest.approx(1.0, abs=WITHIN)


def test_a_graphs_kernels_are_seen_without_ranges_too():
    module, x = WORK["block"]()
    graphed = compile_mode(module, "reduce-overhead")
    for _ in range(3):
        graphed(x)
    reply, _, kernels, _ = in_turn(lambda: profile_calls(lambda: graphed(x), CALLS, (), {}, "cuda"), lambda: graphed(x))
    assert kernels == pytest.approx(1.0, abs=WITHIN)
    names = [sample.name for sample in reply.kernels]
    assert any(name.startswith("triton_") for name in names), names


def test_every_kernel_of_the_trace_is_in_one_line():
    module, x = WORK["block"]()
    call, outputs, graphs = observed(module, x)
    reply = profile_calls(call, CALLS, outputs, graphs, "cuda")
    traced = trace_calls(call, 1, torch.cuda.synchronize, "cuda")[0]
    assert sum(each.calls for sample in reply.kernels for each in sample.launched) == len(traced.launched())
    for sample in reply.kernels:
        assert sample.time_ns == pytest.approx(sum(each.time_ns for each in sample.launched), rel=0.02)


def test_kernels_say_what_they_take_and_libraries_are_named():
    for name, library in (("block", "cuBLAS"), ("conv", "cuDNN")):
        module, x = WORK[name]()
        call, outputs, graphs = observed(module, x)
        profile = build_profile("w", target(), profile_calls(call, CALLS, outputs, graphs, "cuda"))
        generated = [kernel for kernel in profile.kernels if kernel.kind is KernelKind.GENERATED]
        assert generated
        for kernel in generated:
            taken = kernel.resources
            assert taken is not None and taken.registers > 0 and kernel.launched[0].name == kernel.name
            assert taken.spilled_registers is not None and taken.stages is not None
            assert taken.occupancy_ratio is not None and 0 < taken.occupancy_ratio <= 1
            assert math.isfinite(kernel.time_ns) and kernel.diagnosis
        extern = [kernel for kernel in profile.kernels if kernel.kind is KernelKind.EXTERN]
        assert {kernel.language for kernel in extern} == {"library"}
        assert library in {kernel.library for kernel in extern}, [each.launched for each in extern]


def test_a_device_that_waits_is_said_to_wait():
    module = nn.Sequential(*(nn.Linear(64, 64) for _ in range(20))).eval()
    x = torch.randn(8, 64)
    reply = profile_calls(lambda: module(x), CALLS, (), {}, "cuda")
    profile = build_profile("w", target(), reply)
    assert profile.overhead_ns > 0.3 * profile.call_ns
    assert {kernel.bound for kernel in profile.kernels} == {Bound.LAUNCH}
    assert all("the device waits" in kernel.diagnosis for kernel in profile.kernels)


def test_a_devices_limits_are_those_of_its_kind():
    limits = target().multiprocessor
    properties = torch.cuda.get_device_properties(0)
    assert limits is not None
    assert limits.count == properties.multi_processor_count
    assert limits.threads == properties.max_threads_per_multi_processor
    assert limits.registers == properties.regs_per_multiprocessor
    assert limits.shared_bytes == properties.shared_memory_per_multiprocessor
    assert (limits.warp_threads, limits.reserved_shared_bytes) == (32, 1024)
    assert limits.blocks >= 16
