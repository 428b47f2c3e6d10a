"""Floors, what binds a kernel, and what no implementation can beat."""

import pytest

from strop.records.profile import Bound
from strop.records.target import Ceilings
from strop.stats.roofline import bound_of, floor_ns, headroom_ratio, physical_floor_ns, profile_kernel

MACHINE = Ceilings(
    copy_bytes_per_s=10e9, product_flop_per_s=(("float32", 50e9), ("bfloat16", 200e9)), call_overhead_ns=2000.0
)


def test_the_larger_of_memory_and_arithmetic():
    assert floor_ns(10_000, 0, MACHINE, "float32") == pytest.approx(1000.0)
    assert floor_ns(10_000, 500_000, MACHINE, "float32") == pytest.approx(10_000.0)
    assert floor_ns(10_000, 500_000, MACHINE, "bfloat16") == pytest.approx(2500.0)


def test_a_type_that_was_not_measured_gets_the_fastest_rate():
    assert floor_ns(0, 200_000, MACHINE, "float16") == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("time_ns", "moved_bytes", "work_flop", "bound"),
    [
        (3_000.0, 1_000, 1_000, Bound.LAUNCH),
        (3_000.0, 20_000, 1_000, Bound.MEMORY),
        (100_000.0, 800_000, 1_000, Bound.MEMORY),
        (100_000.0, 1_000, 4_000_000, Bound.COMPUTE),
        (100_000.0, 1_000, 1_000, Bound.LATENCY),
        (400_000.0, 800_000, 1_000, Bound.LATENCY),
    ],
)
def test_what_binds_a_kernel(time_ns, moved_bytes, work_flop, bound):
    assert bound_of(time_ns, moved_bytes, work_flop, MACHINE, "float32") is bound


def kernel(**changes):
    given = {
        "name": "k",
        "language": "cpp",
        "nodes": ("add",),
        "calls": 4,
        "time_ns": 400_000.0,
        "call_ns": 1_000_000.0,
        "moved_bytes": 3_200_000,
        "work_flop": 0,
        "ceilings": MACHINE,
        "dtype": "float32",
    }
    return profile_kernel(**(given | changes))


def test_a_kernel_beside_its_ceilings():
    found = kernel()
    assert (found.share, found.bound) == (0.4, Bound.MEMORY)
    assert found.floor_ns == pytest.approx(320_000.0)
    assert found.headroom_ns == pytest.approx(80_000.0)


def test_small_launches_are_judged_one_by_one():
    assert kernel(calls=200, moved_bytes=100_000).bound is Bound.LAUNCH


def test_a_call_without_time_gives_no_share():
    assert kernel(call_ns=0.0).share == 0.0


def test_headroom():
    assert headroom_ratio(300.0, 100.0) == 3.0
    assert headroom_ratio(50.0, 100.0) == 1.0
    assert headroom_ratio(50.0, 0.0) == 1.0


def test_what_the_cache_may_hold_need_not_move():
    assert physical_floor_ns(1_000_000, 400_000, 0, MACHINE) == pytest.approx(60_000.0)
    assert physical_floor_ns(100_000, 400_000, 0, MACHINE) == 0.0


def test_products_run_at_the_fastest_rate_of_any_type():
    assert physical_floor_ns(0, 0, 2_000_000, MACHINE) == pytest.approx(10_000.0)


def test_without_product_rates_only_memory_counts():
    bare = Ceilings(copy_bytes_per_s=10e9, product_flop_per_s=(), call_overhead_ns=0.0)
    assert physical_floor_ns(1_000, 0, 10**12, bare) == pytest.approx(100.0)
