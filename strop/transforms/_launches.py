"""Launches of a generated kernel: which are possible, and which should be fast, from its own text alone.

The estimate ranks and prunes; it never decides. It multiplies what limits a kernel that moves memory: lanes that are
masked off, bytes in flight, whole waves of program instances, registers, and how often the data are read.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from strop.transforms._kernel_text import (
    LOOPED,
    ONE_DIMENSION,
    PERSISTENT,
    POINTWISE,
    STAGES,
    WARPS,
    KernelText,
)

KINDS = (POINTWISE, LOOPED, PERSISTENT)
GRIDS = (ONE_DIMENSION, "Grid2D", "Grid3D", "Grid2DWithYZOverflow")
MAX_BLOCK = {"XBLOCK": 4096, "YBLOCK": 1024, "ZBLOCK": 1024, "R0_BLOCK": 32768}
"""Up to these sizes the compiler's masks hold: it leaves a mask out where they divide the size (Inductor's
``TRITON_MAX_BLOCK``)."""
MAX_TILE = 1 << 16
MAX_GRID_Y = 65535
MAX_WARPS = 32
MAX_STAGES = 5

_WARP = 32
_REGISTERS = 65536
_REGISTERS_PER_THREAD = 255
_THREADS = 2048
_PROGRAMS_PER_SM = 32
_FIXED_REGISTERS = 24
_SHARED_BYTES = 227 << 10
_IN_FLIGHT_BYTES = 40_000
"""Per multiprocessor: bandwidth times latency of a current GPU's memory, with something to spare."""
_THREAD_BYTES = 64
"""Per thread and value: a few vector loads, and few registers; each factor of two away from it costs a little."""
_BALANCE_COST = 1 / 16
_CACHE_LINE_BYTES = 64
_LOOP_COST = 1 / 64
"""What one more trip of a loop costs, against the rest of a program instance."""
_POINTER = re.compile(r"\*(?:i|u|fp|bf)(\d+)|\*fp8")
_WORTH_SHARE = 0.25
_SMS = 132
"""Where the text does not say how many multiprocessors there are."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One way to launch: block sizes by argument name, warps, stages."""

    blocks: tuple[tuple[str, int], ...]
    warps: int
    stages: int

    def values(self) -> dict[str, int]:
        """As the decorator takes it."""
        return {**dict(self.blocks), WARPS: self.warps, STAGES: self.stages}


class Shape:
    """What the estimate needs to know of a kernel."""

    def __init__(self, kernel: KernelText) -> None:
        self.kernel = kernel

    @cached_property
    def numels(self) -> dict[str, int]:
        """Size by prefix: exact where the text states it, else the size hint."""
        exact = self.kernel.numels
        return {prefix: exact.get(prefix, hint) for prefix, hint in self.kernel.size_hints.items()}

    @cached_property
    def element_bytes(self) -> int:
        """Of the widest pointer argument."""
        found = [int(bits or 8) for bits in _POINTER.findall(ast.unparse(self.kernel.decorator))]
        return max(found, default=32) // 8 or 1

    @cached_property
    def passes(self) -> int:
        """How often a looped reduction goes over its row."""
        return max(1, sum(isinstance(each, ast.For) for each in self.kernel.function.body))

    @cached_property
    def loads_per_pass(self) -> int:
        """Loads of one pass; a persistent reduction makes one pass only, whatever it was made from."""
        return max(1, math.ceil(self.kernel.loads / self.passes))

    @cached_property
    def live_values(self) -> int:
        """Values of a tile that are in registers at once: what one pass loads, and an accumulator."""
        return min(8, self.loads_per_pass) + (1 if self.kernel.kind != POINTWISE else 0)

    @cached_property
    def multiprocessors(self) -> int:
        """Of the device that it was generated for."""
        found = re.search(r"multi_processor_count=(\d+)", ast.unparse(self.kernel.decorator))
        return int(found.group(1)) if found else _SMS

    @cached_property
    def is_inner(self) -> bool:
        """Whether a reduction's row is contiguous in memory."""
        return any(
            each.arg == "reduction_hint" and ast.unparse(each.value).endswith(("INNER", "DEFAULT"))
            for each in self.kernel.decorator.keywords
        )

    @cached_property
    def fixed_tile(self) -> int:
        """Elements along a row that a persistent reduction holds."""
        if self.kernel.kind != PERSISTENT:
            return 1
        return math.prod(power_above(size) for prefix, size in self.numels.items() if prefix.startswith("r"))


def power_above(size: int) -> int:
    """The next power of two."""
    return 1 << max(0, size - 1).bit_length()


def why_not_tunable(kernel: KernelText) -> str:
    """What about a kernel forbids another launch; empty when nothing does."""
    if kernel.kind not in KINDS:
        return f"kernels of the kind {kernel.kind} are launched in one way only"
    if kernel.facts.get("grid_type") not in GRIDS:
        return f"its grid ({kernel.facts.get('grid_type')}) depends on more than block sizes"
    strange = [each for each in kernel.blocks if each not in MAX_BLOCK]
    if strange:
        return f"it has block sizes of its own ({', '.join(strange)})"
    if kernel.has_products or "tma_min_block_sizes" in kernel.facts:
        return "its products or loads need blocks of certain sizes"
    return ""


def why_not_legal(shape: Shape, launch: Launch) -> str:
    """What about a launch would be wrong or impossible; empty when nothing is."""
    kernel, numels = shape.kernel, shape.numels
    for name, size in launch.blocks:
        most = MAX_BLOCK.get(name, 0)
        if not _is_power(size) or size > most:
            return f"{name} is {size}; it has to be a power of two up to {most}"
    if math.prod(size for _, size in launch.blocks) * shape.fixed_tile > MAX_TILE:
        return f"its tile is larger than {MAX_TILE} elements"
    if not _is_power(launch.warps) or launch.warps > MAX_WARPS:
        return f"{WARPS} is {launch.warps}; it has to be a power of two up to {MAX_WARPS}"
    if not 1 <= launch.stages <= MAX_STAGES:
        return f"{STAGES} is {launch.stages}; it has to lie between 1 and {MAX_STAGES}"
    rows = math.ceil(numels.get("y", 1) / dict(launch.blocks).get("YBLOCK", 1))
    if kernel.facts.get("grid_type") != "Grid2DWithYZOverflow" and rows > MAX_GRID_Y:
        return f"it would need {rows} rows of program instances; a grid has at most {MAX_GRID_Y}"
    return ""


def why_no_swizzle(kernel: KernelText, launch: Launch, period: int) -> str:
    """What about an order of program instances would be wrong; empty when nothing is."""
    if period not in kernel.periods:
        known = ", ".join(str(each) for each in kernel.periods) or "none"
        return f"nothing that it reads repeats every {period} elements; such periods are: {known}"
    block = dict(launch.blocks).get("XBLOCK", 1)
    return f"XBLOCK is {block}, which does not divide the period {period}" if period % block else ""


def _is_power(size: int) -> bool:
    return size > 0 and size & (size - 1) == 0


def launches(kernel: KernelText) -> list[Launch]:
    """All launches that are legal and do not obviously waste the machine, the one that should be fastest first."""
    shape = Shape(kernel)
    scored = [(estimate(shape, launch), launch) for launch in _grid(shape) if not why_not_legal(shape, launch)]
    best = max((score for score, _ in scored), default=0.0)
    worth = [(score, launch) for score, launch in scored if score > _WORTH_SHARE * best]
    return [launch for _, launch in sorted(worth, key=lambda pair: (-pair[0], pair[1].blocks, pair[1].warps))]


def _grid(shape: Shape) -> Iterator[Launch]:
    kernel = shape.kernel
    ranges: list[tuple[int, ...]] = []
    for name in kernel.blocks:
        top = min(MAX_BLOCK[name], power_above(shape.numels.get(_prefix(name), 1)))
        ranges.append(powers(min(top, _least(kernel, name)), top))
    stages = (1, 2, 3) if kernel.kind == LOOPED else (1,)
    for sizes in itertools.product(*ranges):
        for warps in powers(1, MAX_WARPS // 2):
            for depth in stages:
                yield Launch(tuple(zip(kernel.blocks, sizes, strict=True)), warps, depth)


def _prefix(block: str) -> str:
    return block.removesuffix("BLOCK").lower()


def _least(kernel: KernelText, name: str) -> int:
    if kernel.kind == POINTWISE:
        return 64 if len(kernel.blocks) == 1 else 4
    return 1 if name == "XBLOCK" else 8


def powers(least: int, most: int) -> tuple[int, ...]:
    """The powers of two from one to the other, both included."""
    return tuple(1 << exponent for exponent in range(most.bit_length()) if least <= 1 << exponent <= most)


def estimate(shape: Shape, launch: Launch) -> float:
    """A score between 0 and 1, for ranking launches of one computation; forms that read less often score higher."""
    blocks, threads = dict(launch.blocks), launch.warps * _WARP
    per_thread = math.prod(blocks.values()) * shape.fixed_tile / threads
    width = max(1.0, shape.element_bytes / 4)
    registers = _FIXED_REGISTERS + per_thread * shape.live_values * width
    resident = _resident(shape, launch, per_thread * threads, registers)
    if per_thread < 1 or resident < 1:
        return 0.0
    programs = math.prod(
        math.ceil(shape.numels.get(_prefix(name), 1) / size)
        for name, size in blocks.items()
        if not name.startswith("R")
    )
    waves = programs / (shape.multiprocessors * resident)
    busy = waves / math.ceil(waves) if waves > 1 else min(1.0, programs / shape.multiprocessors)
    in_flight_bytes = (
        resident * threads * per_thread * shape.element_bytes * min(2, shape.loads_per_pass) * launch.stages
    )
    hidden = min(1.0, in_flight_bytes / _IN_FLIGHT_BYTES)
    spills = min(1.0, _REGISTERS_PER_THREAD / registers) ** 2
    balance = 1 / (1 + _BALANCE_COST * abs(math.log2(per_thread * shape.element_bytes / _THREAD_BYTES)))
    rates = (busy * hidden) ** 0.5 * spills * balance
    return rates * _used(shape, blocks) * _lines(shape, blocks) / _trips(shape, blocks)


def _resident(shape: Shape, launch: Launch, tile: float, registers: float) -> int:
    """Program instances that fit on a multiprocessor at once; a pipelined loop keeps what it loads in shared memory."""
    threads = launch.warps * _WARP
    shared_bytes = max(1, (launch.stages - 1) * tile * shape.element_bytes * shape.loads_per_pass)
    limits = (_THREADS // threads, int(_REGISTERS // (registers * threads)), int(_SHARED_BYTES // shared_bytes))
    return min(_PROGRAMS_PER_SM, *limits)


def _trips(shape: Shape, blocks: Mapping[str, int]) -> float:
    """What going over a row several times, and piece by piece, costs."""
    if shape.kernel.kind != LOOPED:
        return 1.0
    row = max((size for prefix, size in shape.numels.items() if prefix.startswith("r")), default=1)
    return shape.passes**0.5 * (1 + _LOOP_COST * math.ceil(row / blocks.get("R0_BLOCK", row))) ** 0.5


def _used(shape: Shape, blocks: Mapping[str, int]) -> float:
    """The share of lanes that are not masked off."""
    share = 1.0
    for name, size in blocks.items():
        numel = shape.numels.get(_prefix(name), size)
        share *= numel / (math.ceil(numel / size) * size)
    rows = [size for prefix, size in shape.numels.items() if prefix.startswith("r")]
    return share * math.prod(rows) / shape.fixed_tile if shape.kernel.kind == PERSISTENT else share


def _lines(shape: Shape, blocks: Mapping[str, int]) -> float:
    """How well loads fill cache lines: what is contiguous within a tile."""
    if shape.kernel.kind == POINTWISE:
        along = min(blocks.values(), default=1)
    elif shape.is_inner:
        along = blocks.get("R0_BLOCK", shape.fixed_tile)
    else:
        along = blocks.get("XBLOCK", 1)
    return min(1.0, along * shape.element_bytes / _CACHE_LINE_BYTES)
