"""One kind of hardware: what it is called, what it can do, and the ceilings that were measured on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from strop.records._base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLevel(Record):
    """One level of the memory hierarchy; ``size_bytes`` is what one device sees."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Multiprocessor(Record):
    """What one of an accelerator's ``count`` multiprocessors holds at a time, whichever of these runs out first.

    ``shared_bytes`` is the memory that blocks share, of which each takes ``reserved_shared_bytes`` besides its own.
    Registers are of four bytes and handed out to warps of ``warp_threads`` threads.
    """

    count: int
    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    reserved_shared_bytes: int = 0
    warp_threads: int = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings(Record):
    """Measured once per machine and cached: copy bandwidth (read plus write) and product rates per element type."""

    copy_bytes_per_s: float
    product_flop_per_s: tuple[tuple[str, float], ...]
    call_overhead_ns: float

    def product_rate_flop_per_s(self, dtype: str) -> float:
        """Rate for ``dtype``; a type that was not measured is given the fastest one, which only makes floors lower."""
        rates = dict(self.product_flop_per_s)
        return rates.get(dtype, max(rates.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Record):
    """A device as the other rooms see it: no room but this shelf says ``cuda`` or ``cpu``.

    ``same_modes`` pairs modes of ``torch.compile`` that give the same code here: the first is the second by another
    name. ``slow_modes`` are modes that take so long to build that only what would be kept is held against them.
    ``identity`` tells this very device from others (a GPU's UUID); empty where the kind says it all.
    ``multiprocessor`` is None where kernels are not launched on multiprocessors.
    """

    name: str
    device: str
    summary: str
    languages: tuple[str, ...]
    memory: tuple[MemoryLevel, ...]
    ceilings: Ceilings
    threads: int = 1
    same_modes: tuple[tuple[str, str], ...] = ()
    identity: str = ""
    slow_modes: tuple[str, ...] = ()
    multiprocessor: Multiprocessor | None = None

    @property
    def lock(self) -> str:
        """The name under which this device is locked across processes."""
        return f"{self.device}-{self.identity}" if self.identity else self.device

    @property
    def memory_bytes(self) -> int:
        """Size of the memory in which tensors lie."""
        return next((level.size_bytes for level in self.memory if level.name == "memory"), 0)

    @property
    def last_level_cache_bytes(self) -> int:
        """Size of the largest cache; timing rotates through more than twice this."""
        caches = [level.size_bytes for level in self.memory if level.name != "memory"]
        return max(caches, default=0)
