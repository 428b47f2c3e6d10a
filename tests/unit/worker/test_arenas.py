"""The arenas as the worker maps them: a file, or memory on a device that is mapped once and given back in time."""

import ctypes
import os

import pytest
import torch

from strop.errors import InternalFault
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Leaf
from strop.wire.layout import plan_layout
from strop.wire.tensors import views
from strop.worker import arenas
from strop.worker.arenas import arena


def leaf(path, shape, dtype=DType.FLOAT32, stride=None):
    return Leaf(path=path, tensor=TensorSpec(shape=shape, dtype=dtype, stride=stride))


def layout_of(slots):
    inputs = [leaf("x", (2, 3), stride=(1, 2)), leaf("none", (0, 4)), leaf("flag", (5,), DType.BOOL)]
    return plan_layout([leaf("w", (4,))], inputs, slots)


@pytest.fixture
def descriptor():
    number = os.memfd_create("test")
    yield number
    os.close(number)


class Device:
    """Memory that is lent by handle; ``mapped`` is what this process has open."""

    def __init__(self):
        self.buffers, self.mapped, self.opened = {}, {}, []

    def lend(self, layout):
        handle = f"{len(self.buffers):02x}"
        self.buffers[handle] = ctypes.create_string_buffer(layout.total_bytes)
        return handle

    def open_lent(self, handle):
        assert handle.hex() not in self.mapped.values(), "a handle is opened once"
        self.opened.append(handle.hex())
        address = ctypes.addressof(self.buffers[handle.hex()])
        self.mapped[address] = handle.hex()
        return address

    def close_lent(self, address):
        del self.mapped[address]

    def lent_tensor(self, address, dtype, count):
        start, handle = next(
            (start, handle)
            for start, handle in self.mapped.items()
            if start <= address < start + len(self.buffers[handle])
        )
        return torch.frombuffer(self.buffers[handle], dtype=dtype, count=count, offset=address - start)

    def bytes_of(self, handle):
        return torch.frombuffer(self.buffers[handle], dtype=torch.uint8)


@pytest.fixture
def device(monkeypatch):
    there = Device()
    for name in ("open_lent", "close_lent", "lent_tensor"):
        monkeypatch.setattr(arenas, name, getattr(there, name))
    return there


def seen(memory, layout, slot):
    return views(memory, layout, slot)


def test_a_file_is_mapped_as_the_parent_sees_it(descriptor):
    layout = layout_of(2)
    os.ftruncate(descriptor, layout.total_bytes)
    mapped = arena(descriptor, layout, "")
    mapped.slot(1)["x"].copy_(torch.arange(6.0).reshape(2, 3))
    mapped.fixed["w"].fill_(7)
    memory = torch.frombuffer(bytearray(os.pread(descriptor, layout.total_bytes, 0)), dtype=torch.uint8)
    assert seen(memory, layout, 1)["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert seen(memory, layout, None)["w"].tolist() == [7] * 4
    assert mapped.slot(0)["none"].shape == (0, 4) and mapped.slot(0)["x"].stride() == (1, 2)
    assert mapped.mapped is None


def test_a_file_that_is_too_small_is_not_mapped(descriptor):
    with pytest.raises(InternalFault, match="holds 0 bytes"):
        arena(descriptor, layout_of(1), "")


def test_memory_on_a_device_is_what_its_owner_sees(device):
    layout = layout_of(2)
    handle = device.lend(layout)
    mapped = arena(-1, layout, handle)
    mapped.slot(1)["x"].copy_(torch.arange(6.0).reshape(2, 3))
    mapped.slot(0)["flag"].fill_(True)
    assert seen(device.bytes_of(handle), layout, 1)["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert seen(device.bytes_of(handle), layout, 0)["flag"].all()


def test_the_same_memory_is_not_mapped_twice(device):
    handle = device.lend(layout_of(4))
    first = arena(-1, layout_of(4), handle)
    second = arena(-1, layout_of(2), handle, first)
    second.slot(1)["x"].fill_(3)
    assert device.opened == [handle] and second.mapped == first.mapped
    assert (seen(device.bytes_of(handle), layout_of(2), 1)["x"] == 3).all()


def test_what_was_exchanged_is_given_back(device):
    small, large = device.lend(layout_of(1)), device.lend(layout_of(9))
    first = arena(-1, layout_of(1), small)
    second = arena(-1, layout_of(9), large, first)
    assert list(device.mapped.values()) == [large]
    second.slot(8)["x"].fill_(3)
    assert (seen(device.bytes_of(large), layout_of(9), 8)["x"] == 3).all()


def test_from_the_device_to_a_file_and_back(device, descriptor):
    layout = layout_of(1)
    os.ftruncate(descriptor, layout.total_bytes)
    handle = device.lend(layout)
    there = arena(descriptor, layout, handle)
    here = arena(descriptor, layout, "", there)
    assert device.mapped == {} and here.mapped is None
    arena(descriptor, layout, handle, here)
    assert device.opened == [handle, handle]
