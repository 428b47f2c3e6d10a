"""A device's memory that the parent owns and lends: one plain allocation, which another process maps by its handle."""

from __future__ import annotations

import torch

from strop.targets import _cuda_driver as driver
from strop.targets._cuda_driver import CudaError
from strop.targets._devices import give_back_unused, lent_tensor
from strop.wire.layout import Layout


def is_on_device(layout: Layout) -> bool:
    """True when tensors of this layout lie in a device's memory."""
    return not all(span.tensor.on_host for span in (*layout.fixed, *layout.slot))


class DeviceMemory:
    """``bytes`` is the memory as a tensor, all zeros at first: what this process gave back it may get again, answers
    that no child may see among it. torch's own allocator would hand out pieces of larger blocks, and a handle always
    lends the whole block.

    Raises:
        CudaError: the driver refused; of everything.
    """

    def __init__(self, size_bytes: int) -> None:
        give_back_unused("cuda")
        driver.enter()
        self._address = driver.allocate(size_bytes)
        try:
            self.handle = driver.share(self._address)
        except CudaError:
            self.close()
            raise
        self.bytes = lent_tensor(self._address, torch.uint8, size_bytes).zero_()

    def close(self) -> None:
        """Give the memory back; idempotent. The child must have ended, and no view may be used any more."""
        address, self._address = self._address, 0
        if address:
            driver.enter()
            driver.release(address)
