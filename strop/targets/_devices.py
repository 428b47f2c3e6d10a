"""What has to be done differently for tensors that lie on an accelerator: wait for it, and ask it for its memory.

torch's own functions are taken when this is imported, so that what runs later in the same process cannot exchange them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from strop.targets import _cuda_driver as driver

_synchronize = torch.cuda.synchronize
_reset_peak = torch.cuda.reset_peak_memory_stats
_peak = torch.cuda.max_memory_allocated
_allocated = torch.cuda.memory_allocated
_reserved = torch.cuda.memory_reserved

WORTH_GIVING_BACK_BYTES = 1 << 30


def on_host(device: str) -> bool:
    """True when tensors on ``device`` lie in this machine's own memory."""
    return torch.device(device).type == "cpu"


def is_usable(device: str) -> bool:
    """True when torch can put tensors there."""
    return on_host(device) or (torch.device(device).type == "cuda" and torch.cuda.is_available())


def synchronise(device: str) -> None:
    """Return when everything that was started on ``device`` has ended; a fault of it is raised here."""
    if not on_host(device):
        _synchronize()


@contextmanager
def counted_part(device: str) -> Iterator[None]:
    """The part of a program in which a tool outside reads the device's counters, when it was told to wait for it."""
    if on_host(device):
        yield
        return
    torch.cuda.profiler.start()
    try:
        yield
    finally:
        torch.cuda.profiler.stop()


def give_back_unused(device: str) -> None:
    """Give memory of ``device`` that torch holds in reserve, where it is much, back to whoever else needs it."""
    if not on_host(device) and _reserved() - _allocated() > WORTH_GIVING_BACK_BYTES:
        torch.cuda.empty_cache()


def is_refused() -> bool:
    """True when the device refuses this process: after a fault of a kernel every later call fails, whoever makes it."""
    if not torch.cuda.is_initialized():
        return False
    try:
        _synchronize()
    except RuntimeError:
        return True
    return False


def device_peak_bytes(call: Callable[[], object]) -> int:
    """Most device memory that torch's allocator held while ``call`` ran, less what it held before."""
    _synchronize()
    before = _allocated()
    _reset_peak()
    result = call()
    _synchronize()
    used = _peak() - before
    del result
    return used


def held_bytes() -> int:
    """What torch's allocator has of the device's memory: tensors, the pools of CUDA graphs, and what is in reserve."""
    return _reserved()


def lent_tensor(address: int, dtype: torch.dtype, count: int) -> torch.Tensor:
    """A one-dimensional tensor over memory of the device that somebody else owns; its storage is exactly as long."""
    place = torch.device("cuda", torch.cuda.current_device())
    size_bytes = count * dtype.itemsize
    storage = torch._C._construct_storage_from_data_pointer(address, place, size_bytes)
    return torch.empty(0, dtype=dtype, device=place).set_(storage, 0, (count,), (1,))


def close_lent(address: int) -> None:
    """Give back what ``open_lent`` mapped; nothing may use it any more."""
    torch.cuda.synchronize()
    driver.close_shared(address)


def open_lent(handle: bytes) -> int:
    """The address at which this process sees memory that its owner lends by ``handle``."""
    torch.cuda.current_stream()  # makes the primary context current in this thread
    torch.cuda.synchronize()
    return driver.open_shared(handle)
