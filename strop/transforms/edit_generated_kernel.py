"""One kernel that the compiler generated, replaced by source text that a person or an agent wrote."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch

from strop.errors import BadCandidate
from strop.records.candidate import Origin
from strop.records.opportunity import Legality, Proposal
from strop.records.profile import KernelProfile
from strop.records.recipe import CODE, Scalar
from strop.records.target import Target
from strop.transforms._base import Example, GeneratedKernel, KernelTransform
from strop.transforms._kernel_text import read_kernel, with_name


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU()), (torch.randn(8, 32),)


class EditGeneratedKernel(KernelTransform):
    """See the class variables."""

    name: ClassVar[str] = "edit_generated_kernel"
    summary: ClassVar[str] = "replaces the source of one kernel that the compiler generated"
    legality: ClassVar[tuple[Legality, ...]] = (Legality.REASSOCIATED,)
    origin: ClassVar[Origin] = Origin.HUMAN
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    applies_when: ClassVar[str] = (
        "the compiled graph has a generated kernel with the given hash, which `strop profile --json` shows beside its "
        "source; write edit_generated_kernel{hash=... source=...}"
    )
    valid_because: ClassVar[str] = (
        "Nothing is promised: the text is its author's, and only the referee finds out what it computes. It takes the "
        "arguments of the kernel that it replaces, in their order."
    )
    pays_when: ClassVar[str] = "its author knows better than the compiler; never proposed by itself"
    example: ClassVar[Example] = Example(build=_example, says="The activation's kernel, written by hand.")

    def proposals(self, kernels: Sequence[KernelProfile], target: Target) -> Iterator[Proposal]:
        """None: the text has to come from somebody."""
        return iter(())

    def why_not(self, graph: Any, target: Target) -> str:
        """Nothing is missing but an author."""
        return "It needs source text, so a person or an agent has to propose it."

    def edited(self, kernel: GeneratedKernel, arguments: Mapping[str, Scalar]) -> str:
        """The given text; a Triton kernel is called what its wrapper calls it."""
        source = arguments.get(CODE)
        if not isinstance(source, str) or not source.strip():
            raise BadCandidate(f'{self.name} needs the new text of {kernel.name}: give source="...".')
        if kernel.language != "triton":
            return source
        _refuse_what_is_not_python(kernel.name, source)
        theirs, mine = read_kernel(kernel.source), read_kernel(source)
        if mine is None:
            raise BadCandidate(
                f"The new text of {kernel.name} is not a Triton kernel of the form that Inductor writes: a Python file "
                "whose function is decorated with a call of triton_heuristics and with triton.jit."
            )
        if theirs is not None:
            _same_arguments(kernel.name, theirs.runtime_arguments, mine.runtime_arguments)
            return with_name(source, theirs.name)
        return source


def _refuse_what_is_not_python(name: str, source: str) -> None:
    try:
        ast.parse(source)
    except SyntaxError as error:
        line = f": {error.text.strip()}" if error.text else ""
        raise BadCandidate(f"The new text of {name} is not Python: {error.msg} in line {error.lineno}{line}") from None


def _same_arguments(name: str, wanted: tuple[str, ...], found: tuple[str, ...]) -> None:
    if len(wanted) != len(found):
        raise BadCandidate(
            f"{name} is called with {len(wanted)} arguments ({', '.join(wanted)}); the new text takes {len(found)} "
            f"({', '.join(found)})."
        )


ITEM = EditGeneratedKernel()
