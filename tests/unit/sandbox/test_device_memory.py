"""Arenas whose tensors lie on a device: both sides see the same memory, and it is given back when its time has come."""

from types import SimpleNamespace

import pytest
import torch

from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Leaf
from strop.sandbox import arena as arenas
from strop.sandbox import device_memory
from strop.sandbox.arena import Arena, ArenaSpoiled
from strop.sandbox.child import Child
from strop.sandbox.device_memory import DeviceMemory, is_on_device
from strop.targets._cuda_driver import CudaError
from strop.wire.codec import encode
from strop.wire.frames import Frame, FrameKind
from strop.wire.layout import plan_layout
from strop.wire.messages import ChildRole, Done
from strop.wire.tensors import views
from tests.unit.sandbox.fake_driver import RELEASED, FakeDriver
from tests.unit.wire.guards import guard_mask


def leaf(path, shape, device="cuda"):
    return Leaf(path=path, tensor=TensorSpec(shape=shape, dtype=DType.FLOAT32, device=device))


def layout_of(slots, device="cuda"):
    return plan_layout([leaf("w", (8,), device)], [leaf("x", (4, 4), device)], slots)


LAYOUT = layout_of(2)


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver()
    monkeypatch.setattr(device_memory, "driver", fake)
    monkeypatch.setattr(device_memory, "lent_tensor", fake.lent_tensor)
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
    return views(driver.bytes_of(arena.handle), arena.layout, slot)


def test_what_is_on_the_host_needs_no_device(driver):
    arena = Arena("test")
    arena.resize(layout_of(1, "cpu"))
    assert not is_on_device(arena.layout) and is_on_device(LAYOUT)
    assert arena.handle == b"" and driver.held == {}
    arena.close()


def test_what_others_left_in_the_memory_is_not_lent_with_it(driver):
    memory = DeviceMemory(1000)
    assert not driver.bytes_of(memory.handle).any()
    memory.close()


def test_memory_that_cannot_be_shared_is_given_back(driver, monkeypatch):
    def refuse(address):
        raise CudaError("CUDA_ERROR_NOT_SUPPORTED", "cuIpcGetMemHandle")

    monkeypatch.setattr(driver, "share", refuse)
    with pytest.raises(CudaError, match="NOT_SUPPORTED"):
        DeviceMemory(1000)
    assert driver.held == {}


class Answering:
    """A channel behind which everything is done at once."""

    def has_unasked_answer(self):
        return False

    def send_frame(self, frame, deadline):
        pass

    def receive(self, deadline):
        return Frame(FrameKind.RECORD, encode(Done()))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_lies_on_the_device_is_not_taken_off_the_memory_that_is_watched(driver, monkeypatch, device):
    monkeypatch.setattr(arenas, "synchronise", lambda device: None)
    process = SimpleNamespace(
        given=Arena("given"),
        made=Arena("made"),
        channel=Answering(),
        watch=SimpleNamespace(lent_bytes=0),
    )
    given, made = layout_of(1, device), layout_of(3, device)
    Child(ChildRole.BASELINE, process).map(given, made)
    assert process.watch.lent_bytes == (given.total_bytes + made.total_bytes if device == "cpu" else 0)
    process.given.close()
    process.made.close()


def test_what_is_written_here_is_what_the_child_sees(driver, arena):
    arena.write(1, {"x": torch.full((4, 4), 3.0)})
    arena.write(None, {"w": torch.arange(8.0)})
    assert (there(driver, arena, 1)["x"] == 3.0).all()
    assert there(driver, arena, None)["w"].tolist() == list(range(8))
    assert (there(driver, arena, 0)["x"] != 3.0).all()


def test_what_the_child_wrote_is_seen_here(driver, arena):
    there(driver, arena, 0)["x"].fill_(7.0)
    assert (arena.views(0)["x"] == 7.0).all()
    assert (views(arena.snapshot(), LAYOUT, 0)["x"] == 7.0).all()


def test_poison_and_guards_hold_there_too(driver, arena):
    arena.poison([0, 1])
    assert torch.isnan(there(driver, arena, 0)["x"]).all()
    assert arena.unwritten(0) == {"x": 16} and arena.guards_intact()
    there(driver, arena, 0)["x"][1:] = 1.0
    assert arena.unwritten(0) == {"x": 4} and arena.unwritten(1) == {"x": 16}
    memory = driver.bytes_of(arena.handle)
    for where in guard_mask(LAYOUT).nonzero().view(-1)[::41]:
        memory[where] ^= 255
        assert not arena.guards_intact() and not arena.guards_intact(of=arena.snapshot())
        memory[where] ^= 255
    assert arena.guards_intact()


def test_the_copy_of_the_clock_stays_what_it_was(driver, arena):
    for slot in (0, 1):
        there(driver, arena, slot)["x"].fill_(5.0 + slot)
    arena.prepare_stop()
    arena.stop(1)
    first = arena.stopped()["x"]
    there(driver, arena, 1)["x"].fill_(7.0)
    assert (first == 6.0).all()
    arena.prepare_stop()
    arena.stop(0)
    assert (arena.stopped()["x"] == 5.0).all() and (first == 6.0).all(), "whoever asked has it for good"


def test_much_memory_that_a_smaller_layout_leaves_unused_is_given_back(driver, arena, monkeypatch):
    arena.resize(layout_of(5))
    before = arena.handle
    arena.resize(layout_of(4))
    assert arena.handle == before, "a little is not worth another allocation"
    monkeypatch.setattr(arenas, "WORTH_GIVING_BACK_BYTES", layout_of(2).slot_bytes)
    arena.resize(layout_of(1))
    arena.release_former()
    assert arena.handle != before and arena.bytes.numel() == layout_of(1).total_bytes
    assert len(driver.held) == 1 and arena.guards_intact()


def test_memory_that_cannot_be_exchanged_for_less_is_kept(driver, arena, monkeypatch):
    arena.resize(layout_of(5))
    arena.release_former()
    before = arena.handle
    monkeypatch.setattr(arenas, "WORTH_GIVING_BACK_BYTES", 0)
    driver.limit_bytes = layout_of(5).total_bytes
    arena.resize(layout_of(1))
    arena.release_former()
    assert arena.handle == before and arena.bytes.numel() == layout_of(1).total_bytes
    assert len(driver.held) == 1 and arena.guards_intact()
    with pytest.raises(ArenaSpoiled, match="OUT_OF_MEMORY"):
        arena.resize(layout_of(6))


def test_the_copy_of_the_clock_grows_with_the_arena(driver, arena):
    arena.prepare_stop()
    arena.resize(layout_of(5))
    there(driver, arena, 4)["x"].fill_(5.0)
    arena.prepare_stop()
    arena.stop(4)
    assert (arena.stopped()["x"] == 5.0).all()


def test_growing_lends_new_memory_and_the_old_lives_until_the_child_has_let_go(driver, arena):
    arena.write(0, {"x": torch.full((4, 4), 3.0)})
    before, old = arena.handle, arena.views(0)["x"]
    arena.resize(layout_of(5))
    assert arena.handle != before and len(driver.held) == 2
    assert (old == 3.0).all() and arena.guards_intact()
    assert arena.bytes.numel() == layout_of(5).total_bytes
    arena.release_former()
    assert list(driver.held) == [driver.handles[arena.handle]]
    assert (old.contiguous().view(torch.uint8) == RELEASED).all()
    arena.release_former()
    arena.poison([4])
    assert torch.isnan(there(driver, arena, 4)["x"]).all()


def test_growing_twice_before_the_child_has_let_go(driver, arena):
    for slots in (5, 9):
        arena.resize(layout_of(slots))
    assert len(driver.held) == 3
    arena.release_former()
    assert list(driver.held) == [driver.handles[arena.handle]]


def test_shrinking_keeps_the_memory_and_renews_the_guards(driver, arena):
    handle = arena.handle
    arena.resize(layout_of(1))
    assert arena.handle == handle and len(driver.held) == 1
    assert arena.bytes.numel() == layout_of(1).total_bytes
    assert arena.guards_intact() and arena.snapshot().shape == arena.bytes.shape
    arena.poison([0])
    assert torch.isnan(there(driver, arena, 0)["x"]).all()
    arena.resize(LAYOUT)
    assert arena.handle == handle, "what was had once is enough again"


def test_memory_is_parted_with_only_when_its_work_is_done(driver, arena, monkeypatch):
    seen = []
    monkeypatch.setattr(arenas, "synchronise", lambda device: seen.append((device, len(driver.held))))
    arena.settle()
    assert seen == [("cpu", 1)], "told apart by where the bytes lie"
    arena.resize(layout_of(5))
    assert seen[1:] == [("cpu", 1)]
    seen.clear()
    arena.prepare_stop()
    arena.stop(0)
    assert seen == [("cpu", 2)], "the clock stops when the copy is there"


def test_from_the_device_to_the_host(driver, arena):
    arena.resize(layout_of(2, "cpu"))
    assert arena.handle == b"" and len(driver.held) == 1
    arena.release_former()
    assert driver.held == {} and arena.guards_intact()


def test_a_device_that_is_full_is_said(driver):
    driver.limit_bytes = 10
    arena = Arena("test")
    with pytest.raises(ArenaSpoiled, match="CUDA_ERROR_OUT_OF_MEMORY"):
        arena.resize(LAYOUT)
    assert arena.handle == b""
    arena.close()


def test_what_could_not_grow_gives_back_what_it_had(driver, arena):
    driver.limit_bytes = LAYOUT.total_bytes + 10
    with pytest.raises(ArenaSpoiled, match="CUDA_ERROR_OUT_OF_MEMORY"):
        arena.resize(layout_of(5))
    arena.release_former()
    assert driver.held == {}
    driver.limit_bytes = 1 << 30
    arena.resize(layout_of(5))
    assert arena.guards_intact() and len(driver.held) == 1


def test_memory_is_given_back_once(driver):
    memory = DeviceMemory(100)
    assert memory.bytes.shape == (100,) and memory.bytes.dtype is torch.uint8
    memory.close()
    memory.close()
    assert driver.held == {}
