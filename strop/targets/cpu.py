"""The processor of this machine: always present, timed without an accelerator's clock, measured with torch itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from strop.records.target import Ceilings, MemoryLevel, Target
from strop.targets._base import TargetKind
from strop.targets._caches import cache_levels, features, memory_bytes, model_name, usable_cores

REPEATS = 7
MAX_COPY_BYTES = 1 << 30
PRODUCT_SIZES = (768, 1280)
PRODUCT_TYPES = ("float32", "float64", "bfloat16")
TINY_CALLS = 2000


class Cpu(TargetKind):
    """Any processor that torch runs on. ``threads`` is how many of its cores a workload may use."""

    name = "cpu"
    summary = "the processor of this machine"
    device = "cpu"
    languages = ("python", "cpp")
    source = "caches: sysfs or sysconf of this machine; ceilings: measured on this machine (copy, matrix products)"

    def present(self) -> bool:
        """Always: whatever runs this is one."""
        return True

    def measure_ceilings(self, threads: int) -> Ceilings:
        """Measure with ``threads`` threads; takes some seconds and up to 2 GiB of memory.

        Ceilings are the fastest of several repeats: other programs on the machine only ever slow a repeat down, and a
        ceiling that is too low would call honest kernels impossible.
        """
        # torch takes seconds to import, and whoever only asks for names or caches shall not wait for it.
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            with torch.inference_mode():
                return Ceilings(
                    copy_bytes_per_s=_copy_rate_bytes_per_s(_last_level_bytes()),
                    product_flop_per_s=tuple((dtype, _product_rate_flop_per_s(dtype)) for dtype in PRODUCT_TYPES),
                    call_overhead_ns=_call_overhead_ns(),
                )
        finally:
            torch.set_num_threads(before)

    def describe(self, ceilings: Ceilings, threads: int) -> Target:
        """This machine's processor with ``threads`` threads."""
        memory = (*cache_levels(), MemoryLevel(name="memory", size_bytes=memory_bytes()))
        plural = "thread" if threads == 1 else "threads"
        return Target(
            name=self.name,
            device=self.device,
            summary=f"{model_name()}, {threads} {plural} of {usable_cores()} cores",
            languages=self.languages,
            memory=memory,
            ceilings=ceilings,
            threads=threads,
            # All that reduce-overhead switches on are CUDA graphs.
            same_modes=(("reduce-overhead", "default"),),
        )

    def identity(self) -> Mapping[str, str]:
        """Model, instruction sets, usable cores and caches."""
        caches = ",".join(f"{level.name}={level.size_bytes}" for level in cache_levels())
        return {
            "model": model_name(),
            "features": " ".join(features()),
            "cores": str(usable_cores()),
            "caches": caches,
        }

    def synchronise(self) -> None:
        """Nothing to wait for: an operator returns when it has ended."""


def _last_level_bytes() -> int:
    return max(level.size_bytes for level in cache_levels())


def _fastest_s(call: Callable[[], object]) -> float:
    call()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def _copy_rate_bytes_per_s(cache_bytes: int) -> float:
    """Bytes read plus bytes written per second, over arrays beyond four times the last-level cache.

    Reading alone can be faster than copying; the higher of the two rates is the ceiling.
    """
    import torch

    size = min(max(4 * cache_bytes, 1 << 26), MAX_COPY_BYTES, memory_bytes() // 8)
    source = torch.ones(size // 4, dtype=torch.float32)
    target = torch.zeros_like(source)
    copied = 2 * size / _fastest_s(lambda: target.copy_(source))
    read = size / _fastest_s(source.sum)
    return max(copied, read)


def _product_rate_flop_per_s(dtype: str) -> float:
    """Fastest rate of a square matrix product, two operations per multiply-add, over a few sizes."""
    import torch

    rates = []
    for size in PRODUCT_SIZES:
        left = torch.randn(size, size).to(getattr(torch, dtype))
        right = torch.randn(size, size).to(getattr(torch, dtype))
        out = torch.empty_like(left)
        rates.append(2.0 * size**3 / _fastest_s(lambda a=left, b=right, c=out: torch.mm(a, b, out=c)))
    return max(rates)


def _call_overhead_ns() -> float:
    """What one operator costs on next to no data: dispatch and call."""
    import torch

    left, right, out = torch.ones(8), torch.ones(8), torch.ones(8)

    def tiny() -> None:
        for _ in range(TINY_CALLS):
            torch.add(left, right, out=out)

    return _fastest_s(tiny) / TINY_CALLS * 1e9


ITEM = Cpu()
