"""Options of the compiler that a user could switch on; proposed so that nothing of it is ever counted as Strop's own
gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch._inductor import config
from torch.fx import GraphModule

from strop.records.candidate import Origin
from strop.records.opportunity import Legality, ParameterRange
from strop.records.recipe import Scalar, Step
from strop.records.target import Target
from strop.transforms._base import Example, Rewrite, Transform
from strop.transforms._estimate import memory_ns, traffic_bytes
from strop.transforms._graph import aten, calls

_APPLIED = "strop_inductor_options"
_CONVOLUTIONS = (aten.convolution.default,)
_PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default, *_CONVOLUTIONS)
_SHARE = 0.05
"""No roofline knows what an option wins; a twentieth of the graph's floor only places it behind what is known to win
more.
"""


@dataclass(frozen=True, slots=True)
class _Option:
    """A named set of options, on which devices, and the operators of which a graph must have one (none: any graph)."""

    name: str
    values: Mapping[str, Scalar]
    devices: tuple[str, ...]
    about: tuple[Any, ...] = ()


_OPTIONS = (
    _Option("max_autotune", {"max_autotune": True}, ("cpu", "cuda"), about=_PRODUCTS),
    _Option("max_autotune_pointwise", {"max_autotune_pointwise": True}, ("cuda",)),
    _Option("coordinate_descent", {"coordinate_descent_tuning": True}, ("cuda",)),
    _Option("combo_kernels", {"combo_kernels": True}, ("cuda",)),
    # On an H200 it took 34 s to build for three kernels; what it saves is launches, and cuda_graph saves those too.
    _Option("cpp_wrapper", {"cpp_wrapper": True}, ("cpu",)),
    _Option("contract", {"cpp.enable_floating_point_contract_flag": "fast"}, ("cpu",)),
    _Option("simdlen_256", {"cpp.simdlen": 256}, ("cpu",)),
    _Option("layout_as_given", {"layout_optimization": False}, ("cpu", "cuda"), about=_CONVOLUTIONS),
)


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU()), (torch.randn(8, 32),)


class InductorOptions(Transform):
    """See the class variables."""

    name: ClassVar[str] = "inductor_options"
    summary: ClassVar[str] = "one of the compiler's own options, such as max_autotune or cpp_wrapper"
    legality: ClassVar[tuple[Legality, ...]] = (Legality.REASSOCIATED,)
    origin: ClassVar[Origin] = Origin.COMPILER
    applies_when: ClassVar[str] = (
        "the installed torch has the option, and it concerns the device and what the graph computes"
    )
    valid_because: ClassVar[str] = (
        "The options choose between code that Inductor may generate anyway (torch._inductor.config); none lowers the "
        "precision. Freezing is left out: it bakes parameters into the code and does not notice new ones. CUDA graphs "
        "have an entry of their own, cuda_graph."
    )
    pays_when: ClassVar[str] = (
        "unknown before it is measured; calls with many small kernels gain from wrappers, products from tuning"
    )
    parameters: ClassVar[tuple[ParameterRange, ...]] = (
        ParameterRange(name="set", choices=tuple(option.name for option in _OPTIONS)),
    )
    example: ClassVar[Example] = Example(build=_example, says="A linear layer with an activation.")

    def applications(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """One rewrite per option that this torch knows and this graph could use; the graph itself stays as it is."""
        wanted = arguments.get("set")
        applied = graph.meta.get(_APPLIED, ())
        for option in _usable(graph, target):
            if wanted in (None, option.name) and option.name not in applied:
                yield Rewrite(
                    step=Step(self.name, (("set", option.name),)),
                    nodes=(),
                    gain_ns=_SHARE * _floor_ns(graph, target),
                    apply=partial(_note, graph, option.name),
                    options=dict(option.values),
                    tunable=False,
                )

    def why_not(self, graph: GraphModule, target: Target) -> str:
        """What is missing."""
        return f"This torch has none of the known options for {target.device}, or all of them are applied."


def _usable(graph: GraphModule, target: Target) -> list[_Option]:
    known = config.get_config_copy()
    device = target.device.partition(":")[0]
    return [
        option
        for option in _OPTIONS
        if device in option.devices
        and (not option.about or any(True for _ in calls(graph, *option.about)))
        and all(name in known and known[name] != value for name, value in option.values.items())
    ]


def _note(graph: GraphModule, name: str) -> None:
    """Remembered on the graph, so that asking again does not offer the same once more."""
    graph.meta[_APPLIED] = (*graph.meta.get(_APPLIED, ()), name)


def _floor_ns(graph: GraphModule, target: Target) -> float:
    """Time to move every result of the graph once."""
    return memory_ns(2 * traffic_bytes(graph.graph.nodes), target)


ITEM = InductorOptions()
