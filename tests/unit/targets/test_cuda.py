"""NVIDIA targets are found by the driver's word for the device, and everything about them is asked or measured."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from strop import wiring
from strop.records.target import Ceilings, Multiprocessor
from strop.settings import Settings
from strop.targets import SHELF, _cuda, _cuda_driver
from strop.targets._devices import lent_tensor, synchronise
from strop.wire.codec import decode, encode

CEILINGS = Ceilings(copy_bytes_per_s=4e12, product_flop_per_s=(("float32", 5e13),), call_overhead_ns=2000.0)
H200 = _cuda_driver.Device(
    name="NVIDIA H200",
    uuid="349587ef-4368-a46f-e82a-42c1d40de31e",
    memory_bytes=150 << 30,
    l2_bytes=60 << 20,
    multiprocessors=132,
    capability=(9, 0),
    multiprocessor=Multiprocessor(
        count=132, threads=2048, blocks=32, registers=65536, shared_bytes=233472, reserved_shared_bytes=1024
    ),
)
NAMES = {
    "NVIDIA H200": "nvidia_h200",
    "NVIDIA H100 80GB HBM3": "nvidia_h100",
    "NVIDIA A100-SXM4-40GB": "nvidia_a100",
    "NVIDIA B200": "nvidia_b200",
    "NVIDIA GeForce RTX 4090": "nvidia_gpu",
}


@pytest.fixture
def machine(monkeypatch):
    """Pretend that the driver lists these devices."""

    def have(*devices):
        monkeypatch.setattr(_cuda, "devices", lambda: devices)

    return have


@pytest.mark.parametrize(("name", "target"), NAMES.items())
def test_the_device_in_front_of_us_is_found_by_its_name(machine, name, target):
    machine(replace(H200, name=name))
    assert wiring.find_kind(None).name == target
    assert wiring.find_kind(None, "cpu").name == "cpu"


def test_what_is_too_old_to_be_compiled_for_is_left_to_the_cpu(machine):
    machine(replace(H200, name="Tesla P100", capability=(6, 0)))
    assert wiring.find_kind(None).name == "cpu"


def test_without_a_driver_there_is_none(machine):
    machine()
    assert not any(kind.present() for kind in SHELF if kind.device == "cuda")


def test_its_record_is_complete_and_crosses_the_wall(machine):
    machine(H200)
    target = SHELF.get("nvidia_h200").describe(CEILINGS, 1)
    assert decode(type(target), encode(target)) == target
    assert target.multiprocessor == H200.multiprocessor
    assert (target.device, target.last_level_cache_bytes) == ("cuda", 60 << 20)
    assert "132 multiprocessors" in target.summary and "9.0" in target.summary


def test_each_device_has_a_lock_and_ceilings_of_its_own(machine):
    kind, names, places = SHELF.get("nvidia_h200"), set(), set()
    for uuid in ("a", "b"):
        machine(replace(H200, uuid=uuid))
        names.add(kind.describe(CEILINGS, 1).lock)
        places.add(tuple(sorted(kind.identity().items())))
    assert len(names) == len(places) == 2


def test_two_cards_of_one_model_are_machines_of_one_kind(machine):
    kind, facts = SHELF.get("nvidia_h200"), []
    for uuid in ("a", "b"):
        machine(replace(H200, uuid=uuid))
        target = kind.describe(CEILINGS, 1)
        facts.append((target.identity, wiring.machine_facts(target), wiring.conditions_of(target, "fp32")))
    (a, one, here), (b, other, there) = facts
    assert (a, b) == ("a", "b") and one == other and here == there
    assert one["model"] == H200.name


@pytest.mark.parametrize(
    ("usable", "order", "child"),
    [
        (None, None, {"CUDA_VISIBLE_DEVICES": "0"}),
        ("2, 0", None, {"CUDA_VISIBLE_DEVICES": "2"}),
        ("MIG-1,MIG-2", "PCI_BUS_ID", {"CUDA_VISIBLE_DEVICES": "MIG-1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
    ],
)
def test_a_child_sees_the_first_device_that_its_parent_may_use(monkeypatch, tmp_path, machine, usable, order, child):
    for name, value in (("CUDA_VISIBLE_DEVICES", usable), ("CUDA_DEVICE_ORDER", order)):
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    machine(H200)
    target = SHELF.get("nvidia_h200").describe(CEILINGS, 1)
    monkeypatch.setattr(wiring, "LocalWall", lambda settings, limits, **made: made["extra"])
    assert wiring.open_wall(Settings(home=tmp_path), target) == dict(Settings(home=tmp_path).compilers) | child
    assert SHELF.get("cpu").environment() == {}


def test_this_machine_answers_without_a_device_too():
    assert isinstance(_cuda_driver.devices(), tuple)


@pytest.mark.gpu
def test_ceilings_are_figures_of_this_world():
    kind = wiring.find_kind(None)
    ceilings = kind.measure_ceilings(1)
    rates = dict(ceilings.product_flop_per_s)
    assert 1e11 < ceilings.copy_bytes_per_s < 1e14
    assert 1e12 < rates["float32"] < rates["bfloat16"] < 1e16
    assert 500 < ceilings.call_overhead_ns < 1e5


@pytest.mark.gpu
def test_memory_is_lent_as_a_tensor_whose_bytes_are_where_they_should_be():
    _cuda_driver.enter()
    addresses = [_cuda_driver.allocate(1000) for _ in range(2)]
    one, other = (lent_tensor(address, torch.uint8, 1000) for address in addresses)
    assert [one.data_ptr(), other.data_ptr()] == addresses
    one.copy_(torch.arange(1000).to(torch.uint8))
    other.copy_(one)
    assert torch.equal(other.cpu(), torch.arange(1000).to(torch.uint8))
    assert lent_tensor(addresses[1] + 8, torch.uint8, 4).tolist() == [8, 9, 10, 11]
    assert len(_cuda_driver.share(addresses[0])) == _cuda_driver.HANDLE_BYTES
    synchronise("cuda")
    del one, other
    for address in addresses:
        _cuda_driver.release(address)
    with pytest.raises(_cuda_driver.CudaError, match="OUT_OF_MEMORY"):
        _cuda_driver.allocate(1 << 50)


OTHER_PROCESS = """
import sys
import torch
from strop.targets._devices import close_lent, lent_tensor, open_lent

address = open_lent(bytes.fromhex(sys.argv[1]))
memory = lent_tensor(address, torch.float32, 4)
memory.mul_(2)
print(memory.tolist())
del memory
close_lent(address)
print(torch.ones(2, device="cuda").tolist())
"""


@pytest.mark.gpu
def test_another_process_sees_the_same_memory_until_it_gives_it_back():
    _cuda_driver.enter()
    address = _cuda_driver.allocate(4096)
    memory = lent_tensor(address, torch.float32, 4)
    memory.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    synchronise("cuda")
    command = [sys.executable, "-c", OTHER_PROCESS, _cuda_driver.share(address).hex()]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.splitlines() == ["[2.0, 4.0, 6.0, 8.0]", "[1.0, 1.0]"]
    assert memory.tolist() == [2.0, 4.0, 6.0, 8.0]
    del memory
    _cuda_driver.release(address)
