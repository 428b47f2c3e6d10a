"""What an edited kernel leaves in its arguments beside what the compiler's own version leaves there.

No verdict falls here: the referee decides, on the whole workload. What is plainly wrong only shall not cost a judgement
before it fails one, and what is right within rounding has to pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from strop.errors import BadCandidate
from strop.transforms._kernel_text import KernelText
from strop.wire.tensors import same_bits

Launch = Callable[[], object]

_ACCUMULATED = 2.0**-24
"""Unit roundoff of single precision, in which Inductor computes what is stored in a narrower type."""
_GROWTH = 8.0
"""Rounding moves a sum of K terms by no more than four times sqrt(K) unit roundoffs, but for one in a thousand (N. J.
Higham and T. Mary, SIAM J. Sci. Comput. 41, 2019); two orders of adding up lie twice as far apart.
"""
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Sieve:
    """A kernel's arguments as they were recorded, and what its own version made of them.

    Everything is launched on the recorded arguments themselves, so that layouts, addresses and what overlaps stay as
    they were; their memory is put back before each launch. That takes twice their memory.

    Args:
        kernel: the compiler's own version.
        arguments: what the wrapper calls it with, tensors and sizes.
        own: launches it on them, on the current stream.

    Raises:
        OutOfMemoryError: there is no room for the copies.
    """

    def __init__(self, kernel: KernelText, arguments: Sequence[Any], own: Launch) -> None:
        self._kernel = kernel
        named = zip(kernel.runtime_arguments, arguments, strict=False)
        self._tensors = {name: each.detach() for name, each in named if isinstance(each, torch.Tensor)}
        self._before = [(memory, memory.clone()) for memory in _memory(self._tensors.values())]
        self._launched(own)
        self._expected = {name: each.clone() for name, each in self._tensors.items()}
        self._largest = {name: _largest(each) for name, each in self._expected.items() if each.is_floating_point()}

    def put_back(self) -> None:
        """Give the arguments the contents that they had at first."""
        for memory, contents in self._before:
            memory.copy_(contents)

    def check(self, launch: Launch) -> None:
        """Launch an edited version and compare; without memory for that, nothing is compared.

        Equal bits pass. Other floating-point numbers have to agree as far as rounding explains, and NaN and infinity
        have to stand at the same places. That holds for a step that promises equal bits as well: the referee is strict.

        Raises:
            BadCandidate: it leaves something else; the sentence names the argument and by how much.
        """
        self._launched(launch)
        try:
            for name, found in self._tensors.items():
                if not same_bits(found, self._expected[name]):
                    self._compare(name, found)
        except torch.OutOfMemoryError:
            return

    def _launched(self, launch: Launch) -> None:
        """Outputs still hold what the call itself wrote, so that a kernel which writes nothing would seem right: their
        bits are all set before, which in floating point is NaN.
        """
        self.put_back()
        for name in self._kernel.outputs:
            output = self._tensors[name]
            output.view(_INTEGERS[output.element_size()]).fill_(-1)
        launch()

    def _compare(self, name: str, found: torch.Tensor) -> None:
        expected, allowed = self._expected[name], 0.0
        if found.is_floating_point():
            apart, allowed = _apart(expected, found), self._allowed(name)
            says = f"differ by up to {apart:.3g} where rounding explains {allowed:.3g}"
            if not math.isfinite(apart):
                says = "are NaN or infinite at other places"
        else:
            apart = float((expected != found).sum())
            says = f"differ at {apart:.0f} of {found.numel()} places"
        # A deviation that is NaN is not within anything.
        if not apart <= allowed:
            raise BadCandidate(f"{self._kernel.name} as edited leaves other values in {name}: they {says}.")

    def _allowed(self, name: str) -> float:
        """How far rounding may move what is left in an argument: one unit in the last place where it is stored, after
        sums whose terms are as large as the largest number among all arguments. What is left can be far smaller than
        those terms, or nothing but their rounding errors.
        """
        unit = max(torch.finfo(self._expected[each].dtype).eps for each in self._largest) / 2
        summed = _GROWTH * math.sqrt(self._terms()) * min(unit, _ACCUMULATED)
        return 2 * unit * self._largest[name] + summed * max(self._largest.values())

    def _terms(self) -> int:
        """The length of the kernel's sums; what program instances add to one place is not said in its text."""
        if self._kernel.has_atomics:
            return max(each.numel() for each in self._tensors.values())
        return math.prod(size for prefix, size in self._kernel.size_hints.items() if prefix.startswith("r"))


def _memory(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """The bytes in which the tensors lie, each piece once; they share it."""
    pieces = {each.untyped_storage().data_ptr(): each for each in tensors if each.numel()}
    return [
        torch.empty(0, dtype=torch.uint8, device=each.device).set_(each.untyped_storage()) for each in pieces.values()
    ]


def _computed(values: torch.Tensor) -> torch.Tensor:
    """In a type in which differences can be taken."""
    return values.float() if values.element_size() < 4 else values


def _largest(values: torch.Tensor) -> float:
    """The size of the largest finite number."""
    sizes = _computed(values).abs()
    return float(sizes.masked_fill_(~sizes.isfinite(), 0.0).max()) if values.numel() else 0.0


def _apart(one: torch.Tensor, other: torch.Tensor) -> float:
    """The largest difference of two elements that are neither equal nor both NaN; itself NaN or infinite where one of
    them is.
    """
    one, other = _computed(one), _computed(other)
    same = (one == other) | (one.isnan() & other.isnan())
    return float((one - other).abs_().masked_fill_(same, 0.0).max())
