"""From the record of a workload to its loaded code, whichever road it came by."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import torch

from strop.errors import BadWorkload, NotSupported
from strop.records.workload import Mode, SourceKind, Workload, WorkloadSource
from strop.targets._devices import is_usable, on_host
from strop.worker.brought import Brought
from strop.worker.factory_source import load_factory
from strop.worker.file_source import load_file
from strop.worker.guard import Blamed, foreign
from strop.worker.leaves import Call, CallShape, flatten_call
from strop.worker.modes import seeded
from strop.worker.stored_source import load_live, load_program
from strop.worker.tensors import spec_of

T = TypeVar("T")

FIRST_SAMPLE_SEED = 0
"""Shapes and plain arguments come from this draw, in every child alike; values that are judged never do."""

_ROADS: dict[SourceKind, Callable[[WorkloadSource], Brought]] = {
    SourceKind.FILE: load_file,
    SourceKind.FACTORY: load_factory,
    SourceKind.PROGRAM: load_program,
    SourceKind.LIVE: load_live,
}
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


def load_workload(workload: Workload, construct_seed: int) -> Brought:
    """Load the code of a workload.

    Raises:
        BadWorkload: something is missing or has changed; the message says what to do.
        NotSupported: the device cannot be used from here.
        Blamed: the workload's own code raises.
    """
    _check_device(workload.device)
    for folder in reversed(workload.source.import_path):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    _check_digest(workload.source)
    with seeded(construct_seed):
        return _ROADS[workload.source.kind](workload.source)


def _check_device(device: str) -> None:
    if not is_usable(device):
        raise BadWorkload(f"The workload asks for {device}, and torch sees no such device here: use device cpu.")


def _check_digest(source: WorkloadSource) -> None:
    path = Path(source.where)
    if source.kind is SourceKind.FACTORY or not _SHA256.match(source.digest) or not path.is_file():
        return
    if hashlib.sha256(path.read_bytes()).hexdigest() != source.digest:
        raise BadWorkload(f"{path.name} has changed since the run began: start again.")


def mode_of(workload: Workload, brought: Brought) -> Mode:
    """The mode in which the module runs.

    What a file declares was read before it was opened, and may have been overruled by the user; what a factory declares
    is only known here.
    """
    if workload.source.kind is SourceKind.FILE:
        return workload.mode
    return brought.mode or workload.mode


def build_module(brought: Brought, mode: Mode, device: str, construct_seed: int) -> torch.nn.Module:
    """A fresh module in its mode; the same seed gives the same parameters in every child.

    Raises:
        BadWorkload: parameters on a wrong device.
        NotSupported: parameters on several devices, or of kinds that no arena can hold.
        Blamed: the workload's own code raises.
    """
    module = made_there(brought, device, construct_seed, brought.build)
    if brought.moves and not on_host(device):
        module = module.to(device)
    set_mode(module, mode, live=brought.live)
    _check_placement(module, device)
    return module


def made_there(brought: Brought, device: str, seed: int, make: Callable[[], T]) -> T:
    """What the workload's code makes under a seed, on its device from the start wherever the code leaves that to torch:
    large tensors are drawn there in no time. Code that does not bear this is asked again, as it was written.
    """
    if brought.moves and not on_host(device):
        with suppress(Blamed), seeded(seed), torch.device(device):
            return make()
    with seeded(seed):
        return make()


def set_mode(module: torch.nn.Module, mode: Mode, *, live: bool = False) -> None:
    """Switch to train or eval, where the module can be switched.

    A live module that is already in this mode keeps the modes of its submodules: a frozen batch norm in a model that
    trains is what its owner wants.
    """
    if live and module.training is (mode is Mode.TRAIN):
        return
    try:
        module.train(mode is Mode.TRAIN)
    except NotImplementedError:
        # Exported programs refuse: their mode was fixed when they were traced.
        return


def _check_placement(module: torch.nn.Module, device: str) -> None:
    named = [*module.named_parameters(), *module.named_buffers()]
    for name, tensor in named:
        if type(tensor).__module__.startswith("torch.distributed"):
            raise NotSupported(f"{name} is distributed over processes: give Strop a module that lives in one process.")
        spec_of(tensor, name)
    devices = sorted({tensor.device.type for _, tensor in named})
    if len(devices) > 1:
        raise NotSupported(f"The module is spread over {' and '.join(devices)}: move it to one device.")
    wanted = torch.device(device).type
    if devices and devices[0] != wanted:
        raise BadWorkload(f"The module's parameters are on {devices[0]}, the workload runs on {wanted}: move it there.")


def first_sample(brought: Brought, device: str) -> tuple[CallShape, dict[str, torch.Tensor], Call]:
    """The sample that fixes structure and shapes, on the workload's device.

    Raises:
        BadWorkload: inputs on another device.
        NotSupported: inputs that no arena can hold.
    """
    call = made_there(brought, device, FIRST_SAMPLE_SEED, brought.draw)
    with foreign("workload", "Taking the inputs apart"):
        shape, tensors = flatten_call(call)
    moves, wanted = brought.moves and not on_host(device), torch.device(device).type
    for path, tensor in tensors.items():
        spec_of(tensor, path)
        if not moves and tensor.device.type != wanted:
            raise BadWorkload(f"{path} is on {tensor.device.type}, the workload runs on {wanted}: make it there.")
    placed = {path: tensor.to(device) for path, tensor in tensors.items()} if moves else tensors
    return shape, placed, call
