"""The CUDA driver's memory functions over this process's own memory: the parent's side runs without a device."""

import ctypes
import itertools

import torch

from strop.targets._cuda_driver import HANDLE_BYTES, CudaError

_numbers = itertools.count(1)
RELEASED = 0xDD


class FakeDriver:
    """``held`` maps addresses to what was allocated; beyond ``limit_bytes`` together it is out of memory. What was
    released is overwritten, so that whoever still uses it is found out, and what is allocated may have been released.
    """

    def __init__(self, limit_bytes=1 << 30):
        self.limit_bytes = limit_bytes
        self.held, self.handles = {}, {}

    def enter(self, index=0):
        pass

    def allocate(self, size_bytes):
        if sum(map(len, self.held.values())) + size_bytes > self.limit_bytes:
            raise CudaError("CUDA_ERROR_OUT_OF_MEMORY", f"{size_bytes} bytes of memory")
        buffer = ctypes.create_string_buffer(bytes([RELEASED]) * size_bytes, size_bytes)
        self.held[ctypes.addressof(buffer)] = buffer
        return ctypes.addressof(buffer)

    def release(self, address):
        buffer = self.held.pop(address)
        ctypes.memset(buffer, RELEASED, len(buffer))

    def share(self, address):
        handle = next(_numbers).to_bytes(HANDLE_BYTES, "little")
        self.handles[handle] = address
        return handle

    def lent_tensor(self, address, dtype, count):
        """The tensor that torch would make over the device's memory."""
        return torch.frombuffer(self.held[address], dtype=dtype, count=count)

    def bytes_of(self, handle):
        """What the child would see."""
        return torch.frombuffer(self.held[self.handles[handle]], dtype=torch.uint8)
