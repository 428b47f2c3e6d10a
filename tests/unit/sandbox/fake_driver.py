"""The CUDA driver's memory functions over this process's own memory: the parent's side runs without a device."""

import ctypes
import itertools

from strop.targets._cuda_driver import HANDLE_BYTES, CudaError

_numbers = itertools.count(1)


class FakeDriver:
    """``held`` maps addresses to what was allocated; beyond ``limit_bytes`` it is out of memory."""

    def __init__(self, limit_bytes=1 << 30):
        self.limit_bytes = limit_bytes
        self.held, self.handles, self.copied = {}, {}, []

    def enter(self, index=0):
        pass

    def allocate(self, size_bytes):
        if size_bytes > self.limit_bytes:
            raise CudaError("CUDA_ERROR_OUT_OF_MEMORY", f"{size_bytes} bytes of memory")
        buffer = ctypes.create_string_buffer(size_bytes)
        self.held[ctypes.addressof(buffer)] = buffer
        return ctypes.addressof(buffer)

    def release(self, address):
        del self.held[address]

    def share(self, address):
        handle = next(_numbers).to_bytes(HANDLE_BYTES, "little")
        self.handles[handle] = address
        return handle

    def to_device(self, address, source, size_bytes):
        self.copied.append(("in", size_bytes))
        ctypes.memmove(address, source, size_bytes)

    def to_host(self, target, address, size_bytes):
        self.copied.append(("out", size_bytes))
        ctypes.memmove(target, address, size_bytes)

    def within_device(self, target, source, size_bytes):
        self.copied.append(("aside", size_bytes))
        ctypes.memmove(target, source, size_bytes)

    def bytes_of(self, handle):
        """What the child would see."""
        return self.held[self.handles[handle]]
