"""An arena's twin in a device's memory: what the child maps there. The parent's side of it stays host memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from strop.targets import _cuda_driver as driver
from strop.wire.layout import Layout

Bytes = NDArray[np.uint8]


def is_on_device(layout: Layout) -> bool:
    """True when tensors of this layout lie in a device's memory."""
    return not all(span.tensor.on_host for span in (*layout.fixed, *layout.slot))


class DeviceMemory:
    """One plain allocation, lent to the child by ``handle``, and a second one that the child never sees: the copy that
    is taken as the clock stops, at the speed of the device.

    Raises:
        CudaError: the driver refused; of everything.
    """

    def __init__(self, size_bytes: int) -> None:
        driver.enter()
        self.size_bytes = size_bytes
        self._address = driver.allocate(size_bytes)
        self._aside = 0
        self.handle = driver.share(self._address)

    def push(self, host: Bytes, start: int, stop: int) -> None:
        """Copy the bytes from ``start`` to ``stop`` of ``host`` to the same place here."""
        driver.enter()
        driver.to_device(self._address + start, _address(host) + start, stop - start)

    def pull(self, host: Bytes, start: int, stop: int) -> None:
        """Copy the bytes from ``start`` to ``stop`` of this memory to the same place of ``host``."""
        driver.enter()
        driver.to_host(_address(host) + start, self._address + start, stop - start)

    def keep_aside(self) -> None:
        """Take the copy; returns when it is complete."""
        driver.enter()
        driver.within_device(self._aside_address(), self._address, self.size_bytes)

    def pull_aside(self, host: Bytes) -> None:
        """Copy what was kept aside to ``host``."""
        driver.enter()
        driver.to_host(_address(host), self._aside_address(), self.size_bytes)

    def close(self) -> None:
        """Give the memory back; idempotent. The child must have ended."""
        addresses, self._address, self._aside = (self._address, self._aside), 0, 0
        driver.enter()
        for address in addresses:
            if address:
                driver.release(address)

    def prepare_aside(self) -> None:
        """Take the memory for the copy before a clock runs."""
        driver.enter()
        self._aside_address()

    def _aside_address(self) -> int:
        if not self._aside:
            self._aside = driver.allocate(self.size_bytes)
        return self._aside


def _address(host: NDArray[Any]) -> int:
    return int(host.ctypes.data)
