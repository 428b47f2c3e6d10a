"""Roofline estimates for ranking: what a call should take, from shapes and measured ceilings; never measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from strop.records.target import Target
from strop.transforms._graph import tensor

SCALAR_SHARE = 1 / 48
"""What compiled code that could not be vectorised reaches of a CPU's product rate: no lanes, no fused add, a mask per
element. Measured on AVX-512 code generated for windows with padding: about 1.5 window elements a nanosecond, at 100
Gflop/s."""

GATHERED_SHARE = 1 / 25
"""The same on a GPU, where what the elements of windows cost is their addresses and masks. Measured on an H200: windows
of 16 with padding at 2.0e12 elements a second, windows of 8 at 2.5e12, at 51 Tflop/s."""

VECTOR_SHARE = 1 / 4
"""What vectorised additions reach of the product rate: no fused multiply, one load per operation."""

UNKNOWN_SIZE = 8
"""Stands in for a symbolic size; estimates only rank."""


def elements(value: torch.Tensor) -> int:
    """Number of elements, symbolic sizes guessed."""
    return math.prod(size if type(size) is int else UNKNOWN_SIZE for size in value.shape)


def size_bytes(value: torch.Tensor | None) -> int:
    """Bytes of one tensor; none for what is no tensor."""
    return 0 if value is None else elements(value) * value.element_size()


def traffic_bytes(nodes: Iterable[Any]) -> int:
    """Bytes of the results of ``nodes`` together."""
    return sum(size_bytes(tensor(node)) for node in nodes)


def memory_ns(moved_bytes: float, target: Target) -> float:
    """Time to move that many bytes, reads and writes together."""
    return moved_bytes / target.ceilings.copy_bytes_per_s * 1e9


def product_ns(flops: float, dtype: torch.dtype, target: Target) -> float:
    """Time of a product's floating-point operations at the target's rate for ``dtype``."""
    return flops / target.ceilings.product_rate_flop_per_s(str(dtype).removeprefix("torch.")) * 1e9


def scalar_ns(operations: float, target: Target) -> float:
    """Time of operations that the compiler did not vectorise, or that gather their operands one by one."""
    share = SCALAR_SHARE if target.device == "cpu" else GATHERED_SHARE
    return operations / (share * target.ceilings.product_rate_flop_per_s("float32")) * 1e9


def vector_ns(operations: float, target: Target) -> float:
    """Time of vectorised simple operations."""
    return operations / (VECTOR_SHARE * target.ceilings.product_rate_flop_per_s("float32")) * 1e9


def call_ns(count: int, target: Target) -> float:
    """Overhead of ``count`` calls that leave the compiled code or launch a kernel."""
    return count * target.ceilings.call_overhead_ns
