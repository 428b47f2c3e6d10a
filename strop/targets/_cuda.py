"""What all NVIDIA targets share: how they are found, described and measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from strop.records.target import Ceilings, MemoryLevel, Target
from strop.targets._base import TargetKind
from strop.targets._cuda_driver import Device, devices

WARM_CALLS = 3
REPEATS = 9
COPY_BYTES = 1 << 31
PRODUCT_SIZES = (4096, 8192)
PRODUCTS = ("float64", "float32", "tf32", "bfloat16", "float16")
TINY_CALLS = 1000
# The driver reads them: which devices a process may use, and in which order they are numbered.
_USABLE, _ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"


class CudaKind(TargetKind):
    """A GPU of NVIDIA's as torch sees it: the first device that this process may use.

    ``names`` are words of which one stands in the name that the driver gives to such a device.
    """

    names: ClassVar[tuple[str, ...]]
    device = "cuda"
    languages = ("python", "triton", "cuda")

    def found(self) -> Device | None:
        """The device in front of us if it is of this kind."""
        here = devices()[:1]
        return next((each for each in here if self.is_one(each)), None)

    def is_one(self, device: Device) -> bool:
        """True when the device bears one of the names."""
        return any(name in device.name for name in self.names)

    def present(self) -> bool:
        """True when the first usable device is of this kind."""
        return self.found() is not None

    def measure_ceilings(self, threads: int) -> Ceilings:
        """Measure with device events; takes some seconds and up to 6 GiB of device memory.

        Ceilings are the fastest of several repeats, on random data: zeros make a chip draw less power and run faster.
        """
        # torch takes seconds to import, and whoever only asks for names shall not wait for it.
        import torch

        size = min(COPY_BYTES, torch.cuda.mem_get_info()[0] // 4)
        return Ceilings(
            copy_bytes_per_s=_copy_rate_bytes_per_s(size),
            product_flop_per_s=tuple((name, _product_rate_flop_per_s(name)) for name in PRODUCTS),
            call_overhead_ns=_call_overhead_ns(),
        )

    def describe(self, ceilings: Ceilings, threads: int) -> Target:
        """The device in front of us."""
        device = self._here()
        major, minor = device.capability
        return Target(
            name=self.name,
            device=self.device,
            identity=device.uuid,
            summary=f"{device.name}, {device.multiprocessors} multiprocessors, compute capability {major}.{minor}",
            languages=self.languages,
            memory=(
                MemoryLevel(name="L2", size_bytes=device.l2_bytes),
                MemoryLevel(name="memory", size_bytes=device.memory_bytes),
            ),
            ceilings=ceilings,
            threads=threads,
            slow_modes=("max-autotune",),
            multiprocessor=device.multiprocessor,
        )

    def identity(self) -> Mapping[str, str]:
        """Name, capability, memory and the device itself: two cards of one kind may be cooled differently."""
        device = self._here()
        return {
            "model": device.name,
            "uuid": device.uuid,
            "capability": ".".join(str(part) for part in device.capability),
            "memory": str(device.memory_bytes),
        }

    def environment(self) -> Mapping[str, str]:
        """The first device that this process may use is the only one in a child."""
        usable = os.environ.get(_USABLE, "").split(",")[0].strip() or "0"
        order = os.environ.get(_ORDER)
        return {_USABLE: usable} | ({_ORDER: order} if order else {})

    def synchronise(self) -> None:
        """Wait for the whole device."""
        import torch

        torch.cuda.synchronize()

    def _here(self) -> Device:
        device = self.found()
        if device is None:
            raise RuntimeError(f"no {self.name} is present")
        return device


def _fastest_s(call: Callable[[], object]) -> float:
    """Seconds of one call between two events on the device, the fastest of several."""
    import torch

    for _ in range(WARM_CALLS):
        call()
    times = []
    for _ in range(REPEATS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / 1e3)
    return min(times)


def _copy_rate_bytes_per_s(size_bytes: int) -> float:
    """Bytes read plus bytes written per second by a copy far beyond the caches."""
    import torch

    source = torch.randn(size_bytes // 4, device="cuda")
    target = torch.empty_like(source)
    return 2 * size_bytes / _fastest_s(lambda: target.copy_(source))


def _product_rate_flop_per_s(name: str) -> float:
    """Fastest rate of a square matrix product, two operations per multiply-add; ``tf32`` rounds float32 operands."""
    import torch

    kind: Any = torch.float32 if name == "tf32" else getattr(torch, name)
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32" if name == "tf32" else "ieee"
    try:
        rates = []
        for size in PRODUCT_SIZES:
            left, right = (torch.randn(size, size, device="cuda").to(kind) for _ in range(2))
            out = torch.empty_like(left)
            rates.append(2.0 * size**3 / _fastest_s(lambda a=left, b=right, c=out: torch.mm(a, b, out=c)))
        return max(rates)
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


def _call_overhead_ns() -> float:
    """What one launched operator costs on next to no data, many in a row."""
    import torch

    left, right, out = (torch.ones(8, device="cuda") for _ in range(3))

    def tiny() -> None:
        for _ in range(TINY_CALLS):
            torch.add(left, right, out=out)

    return _fastest_s(tiny) / TINY_CALLS * 1e9
