"""Theoretical occupancy, held against figures of NVIDIA's own calculator for compute capability 9.0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.records.profile import KernelResources
from strop.records.target import Multiprocessor
from strop.stats.occupancy import resident_blocks, with_occupancy

HOPPER = Multiprocessor(
    count=132, threads=2048, blocks=32, registers=65536, shared_bytes=233472, reserved_shared_bytes=1024
)


def takes(threads=128, registers=32, shared=0, blocks=1000):
    return KernelResources(grid=(blocks, 1, 1), block=(threads, 1, 1), registers=registers, shared_bytes=shared)


CASES = {
    "nothing is short": (takes(128, 32), 16, 1.0, ""),
    "registers": (takes(128, 168), 3, 12 / 64, "registers"),
    "registers in units of a warp": (takes(256, 33), 6, 48 / 64, "registers"),
    "blocks": (takes(32, 16), 32, 0.5, "blocks"),
    "shared memory": (takes(128, 32, 100 << 10), 2, 8 / 64, "shared memory"),
    "a large block": (takes(1024, 64), 1, 0.5, "registers"),
    "warps are whole": (takes(100, 32), 16, 1.0, ""),
}


@pytest.mark.parametrize(("taken", "blocks", "ratio", "limit"), CASES.values(), ids=CASES)
def test_what_runs_out_first_limits(taken, blocks, ratio, limit):
    found = with_occupancy(taken, HOPPER)
    assert resident_blocks(taken, HOPPER)[0] == blocks
    assert (found.occupancy_ratio, found.limited_by) == (pytest.approx(ratio), limit)
    assert found.waves == pytest.approx(1000 / (blocks * 132))


def test_nothing_is_said_where_nothing_is_known():
    assert with_occupancy(takes(), None) == takes()
    too_much = takes(1024, 128)
    assert resident_blocks(too_much, HOPPER)[0] == 0
    assert with_occupancy(too_much, HOPPER) == too_much
    free = Multiprocessor(count=1, threads=64, blocks=2, registers=0, shared_bytes=0)
    assert resident_blocks(takes(32, 0), free) == (2, "warps")


@given(st.integers(1, 1024), st.integers(1, 255), st.integers(0, 200 << 10))
def test_taking_more_never_raises_the_occupancy(threads, registers, shared):
    here = resident_blocks(takes(threads, registers, shared), HOPPER)[0]
    for more in (takes(threads + 32, registers, shared), takes(threads, registers + 8, shared)):
        assert resident_blocks(more, HOPPER)[0] <= here
    assert resident_blocks(takes(threads, registers, shared + 4096), HOPPER)[0] <= here
