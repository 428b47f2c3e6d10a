"""What a transform is: it is asked where it applies and answers with rewrites; asking changes nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule

from strop.records.candidate import Origin
from strop.records.opportunity import Legality, ParameterRange
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
