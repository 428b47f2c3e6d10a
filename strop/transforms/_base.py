"""What a transform is: it is asked where it applies and answers with rewrites; asking changes nothing.

There are two kinds. Most change the captured graph; a :class:`KernelTransform` changes one kernel that the compiler
generated from it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule

from strop.records.candidate import Origin
from strop.records.opportunity import Legality, ParameterRange, Proposal
from strop.records.profile import KernelProfile
from strop.records.recipe import Scalar, Step
from strop.records.target import Target
from strop.registry import Shelved


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """One place where a transform applies.

    ``step`` names the transform with all its arguments, the place (``at=<node name>``) included, so that a recipe
    repeats exactly this;
    ``nodes`` are the nodes that are replaced; ``gain_ns`` is a roofline estimate of what is won (never measured, may
    be negative: "does not
    pay here"); ``apply`` changes the graph; ``options`` are Inductor options to compile the result with;
    ``tunable`` is False where other values of the parameters are rewrites of their own.
    """

    step: Step
    nodes: tuple[str, ...]
    gain_ns: float
    apply: Callable[[], None]
    options: Mapping[str, Scalar] = field(default_factory=dict)
    tunable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A worked example: documentation and test at once. ``build`` returns a module and its example inputs; the
    transform must apply.
    """

    build: Callable[[], tuple[torch.nn.Module, Sequence[Any]]]
    says: str


class Transform(Shelved):
    """One entry of the catalogue. It must hold for every graph that matches, at any shape, stride and type."""

    name: ClassVar[str]
    summary: ClassVar[str]
    legality: ClassVar[tuple[Legality, ...]]
    origin: ClassVar[Origin] = Origin.CATALOGUE
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    applies_when: ClassVar[str]
    valid_because: ClassVar[str]
    """The identity with its source."""
    pays_when: ClassVar[str]
    parameters: ClassVar[tuple[ParameterRange, ...]] = ()
    example: ClassVar[Example]

    @abstractmethod
    def applications(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """Yield every place of ``graph`` where the transform applies with ``arguments`` (unnamed ones take their
        default).

        ``graph`` is a captured ATen graph: every tensor node carries ``meta["val"]`` (a fake tensor), every placeholder
        ``meta["strop_role"] = (role, path)``. Nothing is changed until a rewrite's ``apply`` is called; applying one
        may make others
        stale, so callers ask again after each.
        """

    @abstractmethod
    def why_not(self, graph: GraphModule, target: Target) -> str:
        """One sentence on what the graph lacks; asked only when nothing was yielded."""


PERSISTENT = "persistent"
LOOPED = "looped"
"""The forms of a generated reduction: a program instance holds whole rows, or goes over them piece by piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedKernel:
    """A kernel that stands in the wrapper just now, earlier edits included.

    ``language`` is ``triton``, ``cpp``, ...; ``in_form`` gives the compiler's own text of the same kernel in another
    form that the transform asked for (:meth:`KernelTransform.forms`), which takes the same arguments; it raises
    BadCandidate where there is none.
    """

    name: str
    language: str
    source: str
    in_form: Callable[[str], str]


class KernelTransform(Transform):
    """One entry of the catalogue that changes a generated kernel. Its steps name the kernel by ``hash``, which stands
    for torch and Triton version, captured graph and source together: a stored step never applies to other code.

    Such steps are applied to the compiler's text, after all steps that change the graph and wherever they stand in the
    recipe. One that carries code of the candidate's own carries it in the argument ``source`` (`Recipe.brings_code`),
    which confines the child that runs it.
    """

    @abstractmethod
    def proposals(self, kernels: Sequence[KernelProfile], target: Target) -> Iterator[Proposal]:
        """Yield a proposal for each kernel of the profile that is worth it, heaviest first; a kernel that is launched
        from several places is in ``kernels`` once for each.
        """

    def forms(self, arguments: Mapping[str, Scalar]) -> tuple[str, ...]:
        """The forms of reductions in which :meth:`edited` will want to see the kernel."""
        return ()

    @abstractmethod
    def edited(self, kernel: GeneratedKernel, arguments: Mapping[str, Scalar]) -> str:
        """The kernel's new text.

        Raises:
            BadCandidate: the arguments do not fit the kernel; the message names what would.
        """

    def applications(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """The graph stays as it is."""
        return iter(())

    def why_not(self, graph: GraphModule, target: Target) -> str:
        """Asked when no kernel was worth a proposal."""
        return "The profile shows no generated kernel that it could change and that is heavy enough to be worth it."
