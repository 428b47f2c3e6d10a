"""What candidates are held against: a case with its answers, and a memory of such things that knows its limits."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch

from strop.errors import WorkloadInconclusive
from strop.records.evidence import Case, Distribution
from strop.records.target import Target
from strop.records.tensor import HOST
from strop.records.workload import Description
from strop.wire.tensors import Tensors, real

Thing = TypeVar("Thing")
Places = tuple[torch.Tensor | None, ...]
"""Along each axis the places that are looked at; None: all."""

SHARE_OF_MEMORY = 16
"""Remembered answers take at most one part in so many of a device's memory; the rest is for those who run."""
WAITING_SHARE_OF_MEMORY = 4
HOST_BYTES = 2 << 30


@contextmanager
def within_memory() -> Generator[None]:
    """Around what this side computes on the device: where its memory runs out nobody was judged, and others may be."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise WorkloadInconclusive(
            "The device's memory is too small for what the workload's answers are held against. Make the workload "
            "smaller, or see that nothing else takes that memory."
        ) from error


class TrustedSide(Protocol):
    """Who draws and who answers."""

    def draw_inputs(self, distribution: Distribution, seed: int | None = None) -> Tensors:
        """Inputs from the reference child; fresh ones unless it is said which."""
        ...

    @property
    def is_random(self) -> bool:
        """A call of the workload draws random numbers."""
        ...

    @property
    def description(self) -> Description:
        """The workload, with the inputs that are dealt with."""
        ...

    def expect(self, inputs: Tensors, draw: int, seed: int | None = None) -> Tensors:
        """The workload's results in double precision; what they draw at random follows from the seed."""
        ...

    def perturb(self, inputs: Tensors, draw: int) -> Tensors:
        """The workload's results after one honest rounding of everything; the next answer overwrites them."""
        ...

    def answer_of_baseline(self, inputs: Tensors, draw: int) -> Tensors:
        """The baseline's results."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Answers of a workload that draws random numbers, several of each side to the same inputs: runs by elements, at
    secret ``places`` of each leaf. ``rounding`` is how far rounding moves an element.
    """

    places: Mapping[str, Places]
    expected: Tensors
    baseline: Tensors
    rounding: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """One case with everything that a candidate's answer is held against. ``expected`` is in double precision. ``runs``
    are there where the workload draws random numbers.
    """

    case: Case
    inputs: Tensors
    expected: Tensors
    baseline: Tensors
    redrawn: bool = False
    runs: Runs | None = None

    @property
    def size_bytes(self) -> int:
        """Memory that it takes."""
        several = (self.runs.expected, self.runs.baseline) if self.runs is not None else ()
        return sum(bytes_of(each) for each in (self.inputs, self.expected, self.baseline, *several))

    @property
    def is_finite(self) -> bool:
        """True when nothing that is expected is NaN or Inf."""
        return finite(self.expected) and (self.runs is None or finite(self.runs.expected))


def bytes_of(tensors: Tensors) -> int:
    """Memory that tensors take."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def finite(tensors: Mapping[str, torch.Tensor]) -> bool:
    """True when no floating value is NaN or Inf."""
    inexact = [real(each) for each in tensors.values() if each.is_floating_point() or each.is_complex()]
    # The ends tell it, and take no memory to find.
    return all(math.isfinite(end) for each in inexact if each.numel() for end in each.aminmax())


def limit_bytes(target: Target) -> int:
    """How much may be remembered where the target's tensors lie."""
    return HOST_BYTES if target.device == HOST else target.memory_bytes // SHARE_OF_MEMORY


def waiting_bytes(target: Target) -> int:
    """How much children may take that were loaded before they are needed."""
    return HOST_BYTES if target.device == HOST else target.memory_bytes // WAITING_SHARE_OF_MEMORY


class Remembered(Generic[Thing]):
    """Things by key, up to a number of bytes: the one that was used longest ago goes first, and what would take more
    than everything is not remembered at all. Whoever finds nothing here must be able to make it anew.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._things: OrderedDict[object, tuple[Thing, int]] = OrderedDict()

    def get(self, key: object) -> Thing | None:
        """What was remembered under the key."""
        if key not in self._things:
            return None
        self._things.move_to_end(key)
        return self._things[key][0]

    def keep(self, key: object, thing: Thing, size_bytes: int) -> Thing:
        """Remember a thing if there is room for it, and hand it back."""
        self.forget(key)
        if self.has_room_for(size_bytes):
            self._things[key] = (thing, size_bytes)
            while sum(size for _, size in self._things.values()) > self._limit_bytes:
                self._things.popitem(last=False)
        return thing

    def has_room_for(self, size_bytes: int) -> bool:
        """False for what would not be remembered anyway."""
        return size_bytes <= self._limit_bytes

    def forget(self, key: object) -> None:
        """Forget what was remembered under the key, if anything."""
        self._things.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self._things.clear()
