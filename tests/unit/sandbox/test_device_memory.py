"""Arenas whose tensors lie on a device: this side and the twin there are kept in step, and no copy is made in vain."""

import numpy as np
import pytest

from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Leaf
from strop.sandbox import device_memory
from strop.sandbox.arena import Arena, ArenaSpoiled
from strop.wire.arrays import views
from strop.wire.layout import plan_layout
from tests.unit.sandbox.fake_driver import FakeDriver


def leaf(path, shape, device="cuda"):
    return Leaf(path=path, tensor=TensorSpec(shape=shape, dtype=DType.FLOAT32, device=device))


LAYOUT = plan_layout([leaf("w", (8,))], [leaf("x", (4, 4))], 2)


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver()
    monkeypatch.setattr(device_memory, "driver", fake)
    return fake


@pytest.fixture
def arena(driver):
    arena = Arena("test")
    arena.resize(LAYOUT)
    yield arena
    arena.close()
    assert driver.held == {}


def there(driver, arena, slot):
    """The child's view of a slot."""
    memory = np.frombuffer(driver.bytes_of(arena.handle), np.uint8)
    return views(memory, LAYOUT, slot)


def test_what_is_on_the_host_needs_no_twin(driver):
    arena = Arena("test")
    arena.resize(plan_layout([leaf("w", (8,), "cpu")], [], 1))
    assert arena.handle == b"" and driver.held == {}
    arena.push()
    arena.ran()
    assert driver.copied == []
    arena.close()


def test_what_is_written_here_is_there_before_the_child_runs(driver, arena):
    arena.write(1, {"x": np.full((4, 4), 3.0, np.float32)})
    arena.push()
    assert (there(driver, arena, 1)["x"] == 3.0).all()


def test_what_the_child_wrote_is_seen_here(driver, arena):
    arena.push()
    there(driver, arena, 0)["x"][...] = 7.0
    arena.ran()
    assert (arena.views(0)["x"] == 7.0).all()
    assert (views(arena.snapshot(), LAYOUT, 0)["x"] == 7.0).all()


def test_an_area_is_moved_only_where_it_changed(driver, arena):
    arena.push()
    driver.copied.clear()
    arena.push()
    assert driver.copied == []
    arena.write(0, {"x": np.zeros((4, 4), np.float32)})
    arena.push()
    assert driver.copied == [("in", LAYOUT.slot_bytes)]
    driver.copied.clear()
    arena.ran()
    arena.write(0, {"x": np.ones((4, 4), np.float32)})
    assert driver.copied == [], "what is overwritten need not be read first"
    arena.views(1)
    arena.views(1)
    assert driver.copied == [("out", LAYOUT.slot_bytes)]


def test_poison_and_guards_hold_there_too(driver, arena):
    arena.poison([0, 1])
    arena.push()
    arena.ran()
    assert arena.unwritten(0) == {"x": 16} and arena.guards_intact()
    there(driver, arena, 0)["x"][...] = 1.0
    arena.ran()
    assert arena.unwritten(0) == {"x": 0} and arena.unwritten(1) == {"x": 16}
    np.frombuffer(driver.bytes_of(arena.handle), np.uint8)[LAYOUT.slot_start(1)] ^= 255
    assert not arena.guards_intact(of=arena.snapshot())


def test_the_copy_of_the_clock_stays_what_it_was(driver, arena):
    arena.push()
    there(driver, arena, 0)["x"][...] = 5.0
    arena.prepare_stop()
    driver.copied.clear()
    arena.stop()
    assert driver.copied == [("aside", LAYOUT.total_bytes)], "the clock pays for a copy on the device alone"
    there(driver, arena, 0)["x"][...] = 6.0
    assert (views(arena.stopped(), LAYOUT, 0)["x"] == 5.0).all()


def test_growing_lends_new_memory_and_gives_the_old_back(driver, arena):
    before = arena.handle
    arena.resize(plan_layout([leaf("w", (8,))], [leaf("x", (4, 4))], 5))
    assert arena.handle != before and len(driver.held) == 1


def test_a_device_that_is_full_is_said(driver):
    driver.limit_bytes = 10
    arena = Arena("test")
    with pytest.raises(ArenaSpoiled, match="CUDA_ERROR_OUT_OF_MEMORY"):
        arena.resize(LAYOUT)
    arena.close()
