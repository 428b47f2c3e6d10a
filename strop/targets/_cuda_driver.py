"""The few calls of NVIDIA's driver that are needed without torch: what devices there are, and memory that another
process can map.

Source: CUDA Driver API, device, primary context, memory and IPC functions. Memory is taken with plain allocations
(cuMemAlloc), because only those can be lent to another process by a handle.
"""

from __future__ import annotations

import ctypes
import functools
import uuid
from dataclasses import dataclass

from strop.records.target import Multiprocessor

LIBRARY = "libcuda.so.1"
HANDLE_BYTES = 64
_LAZY_ENABLE_PEER_ACCESS = 1
_MULTIPROCESSORS, _L2_BYTES, _MAJOR, _MINOR = 16, 38, 75, 76
# Of the whole device and of one multiprocessor: what `Multiprocessor` holds, by the numbers of CUdevice_attribute.
_LIMITS = {
    "count": _MULTIPROCESSORS,
    "threads": 39,
    "blocks": 106,
    "registers": 82,
    "shared_bytes": 81,
    "reserved_shared_bytes": 111,
    "warp_threads": 10,
}


class CudaError(RuntimeError):
    """The driver refused; ``name`` is its own word, such as CUDA_ERROR_OUT_OF_MEMORY."""

    def __init__(self, name: str, doing: str) -> None:
        super().__init__(f"the CUDA driver answered {name} to {doing}")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What one device says about itself. ``capability`` is its compute capability, such as (9, 0)."""

    name: str
    uuid: str
    memory_bytes: int
    l2_bytes: int
    multiprocessors: int
    capability: tuple[int, int]
    multiprocessor: Multiprocessor | None = None


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_byte * HANDLE_BYTES),)


def devices() -> tuple[Device, ...]:
    """The devices that this process may use; none where there is no driver."""
    library = _library()
    if library is None:
        return ()
    count = ctypes.c_int()
    try:
        _check(library.cuDeviceGetCount(ctypes.byref(count)), "cuDeviceGetCount")
        return tuple(_device(library, index) for index in range(count.value))
    except CudaError:
        return ()


@functools.cache
def _library() -> ctypes.CDLL | None:
    """The driver, initialised; None where there is none or no device answers."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    return library if library.cuInit(0) == 0 else None


def _driver() -> ctypes.CDLL:
    library = _library()
    if library is None:
        raise CudaError("CUDA_ERROR_NO_DEVICE", "cuInit")
    return library


def _check(code: int, doing: str) -> None:
    if code == 0:
        return
    name = ctypes.c_char_p()
    _driver().cuGetErrorName(code, ctypes.byref(name))
    raise CudaError((name.value or b"an unknown error").decode(), doing)


def _device(library: ctypes.CDLL, index: int) -> Device:
    number = ctypes.c_int()
    _check(library.cuDeviceGet(ctypes.byref(number), index), "cuDeviceGet")
    name = ctypes.create_string_buffer(256)
    _check(library.cuDeviceGetName(name, len(name), number), "cuDeviceGetName")
    identity = (ctypes.c_ubyte * 16)()
    _check(library.cuDeviceGetUuid_v2(identity, number), "cuDeviceGetUuid")
    memory = ctypes.c_size_t()
    _check(library.cuDeviceTotalMem_v2(ctypes.byref(memory), number), "cuDeviceTotalMem")

    def attribute(which: int) -> int:
        value = ctypes.c_int()
        _check(library.cuDeviceGetAttribute(ctypes.byref(value), which, number), "cuDeviceGetAttribute")
        return value.value

    return Device(
        name=name.value.decode(),
        uuid=str(uuid.UUID(bytes=bytes(identity))),
        memory_bytes=memory.value,
        l2_bytes=attribute(_L2_BYTES),
        multiprocessors=attribute(_MULTIPROCESSORS),
        capability=(attribute(_MAJOR), attribute(_MINOR)),
        multiprocessor=Multiprocessor(**{name: attribute(which) for name, which in _LIMITS.items()}),
    )


def enter(index: int = 0) -> None:
    """Make the device's primary context, the one that torch uses as well, current in this thread."""
    driver = _driver()
    _check(driver.cuCtxSetCurrent(_primary_context(index)), "cuCtxSetCurrent")


@functools.cache
def _primary_context(index: int) -> ctypes.c_void_p:
    driver = _driver()
    number, context = ctypes.c_int(), ctypes.c_void_p()
    _check(driver.cuDeviceGet(ctypes.byref(number), index), "cuDeviceGet")
    _check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), number), "cuDevicePrimaryCtxRetain")
    return context


def allocate(size_bytes: int) -> int:
    """The address of new device memory."""
    address = ctypes.c_void_p()
    _check(_driver().cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size_bytes)), f"{size_bytes} bytes of memory")
    return address.value or 0


def release(address: int) -> None:
    """Give back what ``allocate`` took."""
    _check(_driver().cuMemFree_v2(ctypes.c_void_p(address)), "cuMemFree")


def share(address: int) -> bytes:
    """The handle by which another process maps an allocation."""
    handle = _Handle()
    _check(_driver().cuIpcGetMemHandle(ctypes.byref(handle), ctypes.c_void_p(address)), "cuIpcGetMemHandle")
    return bytes(handle)


def open_shared(handle: bytes) -> int:
    """The address at which this process now sees another one's allocation."""
    address = ctypes.c_void_p()
    given = _Handle.from_buffer_copy(handle)
    opened = _driver().cuIpcOpenMemHandle_v2(ctypes.byref(address), given, _LAZY_ENABLE_PEER_ACCESS)
    _check(opened, "cuIpcOpenMemHandle")
    return address.value or 0


def close_shared(address: int) -> None:
    """Give back what ``open_shared`` mapped."""
    _check(_driver().cuIpcCloseMemHandle(ctypes.c_void_p(address)), "cuIpcCloseMemHandle")
