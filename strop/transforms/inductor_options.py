"""Options of the compiler that a user could switch on; proposed so that nothing of it is ever counted as Strop's own
gain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from strop.transforms._graph import aten, calls, shape_of, static

_APPLIED = "strop_inductor_options"
_CONVOLUTIONS = (aten.convolution.default,)
_PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default, *_CONVOLUTIONS)
_REDUCTIONS = (
    aten.sum.default,
    aten.sum.dim_IntList,
    aten.mean.default,
    aten.mean.dim,
    aten.var_mean.correction,
    aten.amax.default,
    aten.amin.default,
    aten.linalg_vector_norm.default,
)
_FEW_ROWS, _VERY_FEW_ROWS = 16, 8
_LONG_ROW, _VERY_LONG_ROW = 1 << 15, 1 << 21
_SHARE = 0.02
"""No roofline knows what an option wins, and nobody measured it: a fiftieth of the graph's floor only places it behind
what is known to win more.
"""


def _any_graph(graph: GraphModule) -> bool:
    return True


def _has_products(graph: GraphModule) -> bool:
    return any(True for _ in calls(graph, *_PRODUCTS))


def _has_convolutions(graph: GraphModule) -> bool:
    return any(True for _ in calls(graph, *_CONVOLUTIONS))


def _has_few_long_rows(graph: GraphModule) -> bool:
    """True where a reduction has so few rows, and so long ones, that several blocks would work on each (Inductor's own
    rule: `should_use_cooperative_reduction` in torch/_inductor/choices.py).
    """
    for node in calls(graph, *_REDUCTIONS):
        made = node.meta.get("val")
        first = made[0] if isinstance(made, tuple | list) else made
        given, left = shape_of(node.args[0]), static(first.shape) if isinstance(first, torch.Tensor) else None
        if given is None or left is None or not 0 < math.prod(left) <= _FEW_ROWS:
            continue
        rows = math.prod(left)
        least = _LONG_ROW * rows if rows <= _VERY_FEW_ROWS else _VERY_LONG_ROW
        if math.prod(given) >= least * rows:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Option:
    """A named set of options, on which devices, and which graphs it concerns."""

    name: str
    values: Mapping[str, Scalar]
    devices: tuple[str, ...]
    concerns: Callable[[GraphModule], bool] = _any_graph


_OPTIONS = (
    _Option("max_autotune", {"max_autotune": True}, ("cpu", "cuda"), concerns=_has_products),
    _Option("max_autotune_pointwise", {"max_autotune_pointwise": True}, ("cuda",)),
    _Option("coordinate_descent", {"coordinate_descent_tuning": True}, ("cuda",)),
    _Option("cooperative_reductions", {"triton.cooperative_reductions": True}, ("cuda",), concerns=_has_few_long_rows),
    _Option("unsplit_reductions", {"split_reductions": False}, ("cuda",), concerns=_has_few_long_rows),
    _Option("combo_kernels", {"combo_kernels": True}, ("cuda",)),
    # On an H200 it took 34 s to build for three kernels; what it saves is launches, and cuda_graph saves those too.
    _Option("cpp_wrapper", {"cpp_wrapper": True}, ("cpu",)),
    _Option("contract", {"cpp.enable_floating_point_contract_flag": "fast"}, ("cpu",)),
    _Option("simdlen_256", {"cpp.simdlen": 256}, ("cpu",)),
    _Option("layout_as_given", {"layout_optimization": False}, ("cpu", "cuda"), concerns=_has_convolutions),
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
        and option.concerns(graph)
        and all(name in known and known[name] != value for name, value in option.values.items())
    ]


def _note(graph: GraphModule, name: str) -> None:
    """Remembered on the graph, so that asking again does not offer the same once more."""
    graph.meta[_APPLIED] = (*graph.meta.get(_APPLIED, ()), name)


def _floor_ns(graph: GraphModule, target: Target) -> float:
    """Time to move every result of the graph once."""
    return memory_ns(2 * traffic_bytes(graph.graph.nodes), target)


ITEM = InductorOptions()
