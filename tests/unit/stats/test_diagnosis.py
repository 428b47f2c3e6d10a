"""What binds a kernel, and the sentence that says why."""

from dataclasses import replace

import pytest

from strop.records.profile import Bound, DeviceKernel, KernelCounters, KernelProfile, KernelResources
from strop.records.target import Ceilings, Multiprocessor, Target
from strop.stats.diagnosis import Setting, diagnose, setting_of
from strop.stats.occupancy import with_occupancy

HOPPER = Multiprocessor(count=132, threads=2048, blocks=32, registers=65536, shared_bytes=233472)
TARGET = Target(
    name="gpu",
    device="nowhere",
    summary="",
    languages=(),
    memory=(),
    ceilings=Ceilings(copy_bytes_per_s=4e12, product_flop_per_s=(("float32", 5e13),), call_overhead_ns=4000.0),
    multiprocessor=HOPPER,
)
HOST = replace(TARGET, multiprocessor=None)
BUSY = Setting(busy_ratio=0.98, gap_ns=1000.0)


def kernel(time_ns=1e6, moved=3_000_000_000, flop=1_000_000, bound=Bound.MEMORY, launched=(), calls=1):
    return KernelProfile(
        name="k",
        language="triton",
        nodes=(),
        calls=calls,
        time_ns=time_ns,
        share=0.5,
        moved_bytes=moved,
        work_flop=flop,
        bound=bound,
        floor_ns=0.0,
        launched=launched,
    )


def on_device(registers=24, counters=None, blocks=100_000, calls=1, spilled=None):
    taken = KernelResources(
        grid=(blocks, 1, 1), block=(128, 1, 1), registers=registers, shared_bytes=0, spilled_registers=spilled
    )
    taken = with_occupancy(taken, HOPPER)
    return (DeviceKernel(name="k", calls=calls, time_ns=1e6, resources=taken, counters=counters),)


def said(one, target=TARGET, setting=BUSY):
    return diagnose(one, target, "float32", setting)


def test_memory_and_what_a_launch_takes():
    bound, why = said(kernel(launched=on_device()))
    assert bound is Bound.MEMORY
    assert why == "moves 3 TB/s, 75 % of what a copy reaches; 24 registers a thread, occupancy 100 %"


def test_arithmetic():
    bound, why = said(kernel(flop=40_000_000_000, bound=Bound.COMPUTE))
    assert bound is Bound.COMPUTE
    assert why == "computes 40 Tflop/s, 80 % of what a product of float32 reaches"


def test_neither_is_busy_and_the_launch_says_why():
    one = kernel(moved=400_000, bound=Bound.LATENCY, launched=on_device(200, blocks=66, spilled=12))
    bound, why = said(one)
    assert bound is Bound.LATENCY
    assert "moves 400 MB/s, 0 % of what a copy reaches; computes 1 Gflop/s" in why
    assert "200 registers a thread, occupancy 12 %, limited by registers" in why
    assert "12 registers a thread are spilled to memory" in why
    assert "its 66 blocks are 25 % of what 132 multiprocessors hold at once" in why


def test_what_caches_serve_is_said():
    assert "150 % of what a copy reaches, so caches serve it" in said(kernel(moved=6_000_000_000))[1]


@pytest.mark.parametrize("one", [kernel(moved=0, flop=0, bound=Bound.LATENCY), kernel(time_ns=0.0)])
def test_what_is_not_known_is_not_judged(one):
    assert said(one, HOST)[1] == "what it moves and computes is not known"


def test_a_kernel_that_never_ran_has_no_diagnosis():
    assert said(kernel(calls=0)) == (Bound.MEMORY, "")


def test_a_device_that_waits_is_bound_by_launching():
    waiting = Setting(busy_ratio=0.12, gap_ns=11_000.0)
    bound, why = said(kernel(time_ns=3000.0), setting=waiting)
    assert bound is Bound.LAUNCH
    assert why == "3 µs a launch, for which the device waits 11 µs; kernels are busy 12 % of the call"
    assert said(kernel(time_ns=30_000.0), setting=waiting)[0] is Bound.MEMORY
    many = kernel(time_ns=30_000.0, launched=on_device(calls=10))
    assert said(many, setting=waiting)[0] is Bound.LAUNCH
    assert said(kernel(time_ns=3000.0), HOST, waiting)[0] is Bound.MEMORY


COUNTED = {
    Bound.MEMORY: KernelCounters(memory_ratio=0.8, compute_ratio=0.7, dram_ratio=0.75, l2_hit_ratio=0.5),
    Bound.COMPUTE: KernelCounters(memory_ratio=0.3, compute_ratio=0.7),
    Bound.LATENCY: KernelCounters(memory_ratio=0.3, compute_ratio=0.5, achieved_occupancy_ratio=0.4),
}


@pytest.mark.parametrize(("bound", "counters"), COUNTED.items())
def test_counters_overrule_the_roofline(bound, counters):
    for roofline in Bound:
        found, why = said(kernel(bound=roofline, launched=on_device(counters=counters)))
        assert found is bound and why.startswith("counted: memory busy ")
    if bound is Bound.MEMORY:
        assert "memory busy 80 %, memory chips 75 %, arithmetic 70 %, L2 hits 50 %" in why
    if bound is Bound.LATENCY:
        assert "occupancy 100 % (40 % reached)" in why


def test_counters_without_speed_of_light_overrule_nothing():
    one = kernel(launched=on_device(counters=KernelCounters(dram_bytes=5.0)))
    assert said(one) == (Bound.MEMORY, said(kernel(launched=on_device()))[1])


def test_the_setting_is_that_of_the_whole_call():
    kernels = (kernel(time_ns=600.0, launched=on_device(calls=2)), kernel(time_ns=200.0), kernel(time_ns=0.0, calls=5))
    assert setting_of(1000.0, kernels) == Setting(busy_ratio=0.8, gap_ns=pytest.approx(200 / 3))
    assert setting_of(0.0, ()) == Setting(busy_ratio=0.0, gap_ns=0.0)
    assert setting_of(700.0, kernels).gap_ns == 0.0
