"""Chains of element-wise operations and row reductions as one vectorised C++ kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node

from strop.kernels import native as toolchain
from strop.kernels.program import Program
from strop.records.opportunity import Legality, ParameterRange
from strop.records.recipe import Scalar
from strop.records.target import Target
from strop.transforms._base import Example, Rewrite
from strop.transforms._estimate import call_ns, memory_ns, traffic_bytes, vector_ns
from strop.transforms._everywhere import PlacedTransform
from strop.transforms._graph import at, aten, calls, step
from strop.transforms._programs import ALONG_ROWS, REDUCTIONS, translation_of
from strop.transforms._regions import Region, Space, fuse, program_of, space_of

SEEDS = (
    *(aten.tanh.default, aten.mish.default, aten.gelu.default, aten.softplus.default, aten.log_sigmoid_forward.default),
    *(
        aten.log.default,
        aten.log1p.default,
        aten.exp.default,
        aten.expm1.default,
        aten.erf.default,
        aten.sigmoid.default,
    ),
    *(aten.silu.default, aten.elu.default, *ALONG_ROWS, *REDUCTIONS),
)

_COMPILER_COST = {"tanh": 38, "mish": 95, "gelu_tanh": 40, "softplus": 35, "log_sigmoid": 36, "log": 16, "log1p": 22}
_OWN_COST = {"tanh": 15, "mish": 13, "gelu_tanh": 13, "softplus": 18, "log_sigmoid": 18, "log": 10, "log1p": 15}
"""Simple vector operations per element, fitted to times measured on AVX-512: the compiler's vector library is called
through memory for some functions; polynomials in registers are not."""

_REDUCTION_GAIN = 4
"""The same for each reduction of a row: passes of the compiler that go through memory."""


class _Block(torch.nn.Module):
    def forward(self, rows: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.gelu(rows + bias, approximate="tanh")
        return torch.nn.functional.mish(hidden * 2) + rows


def _example() -> tuple[torch.nn.Module, Sequence[Any]]:
    return _Block(), (torch.randn(8, 33, 40), torch.randn(40))


class FusedElementwise(PlacedTransform):
    """See the class variables."""

    name: ClassVar[str] = "fused_elementwise"
    summary: ClassVar[str] = "a chain of element-wise operations and row reductions as one vectorised C++ kernel"
    legality: ClassVar[tuple[Legality, ...]] = (Legality.REASSOCIATED,)
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    applies_when: ClassVar[str] = (
        "element-wise operations (with broadcasting), softmax, log-softmax, layer norm and reductions over the last "
        "dimensions, of known size, in float32, float64 or bfloat16 on a CPU with a C++ compiler"
    )
    valid_because: ClassVar[str] = (
        "Each step is the operation's own definition in torch's documentation; softmax subtracts the row's maximum, "
        "variance is taken in two passes (Chan, Golub and LeVeque, 1983). Elementary functions are polynomials with an "
        "error of at most 3 ulp in float32, and sums run in another order."
    )
    pays_when: ClassVar[str] = (
        "the chain has functions that the compiler's vector library computes slowly (tanh, mish, the tanh form of "
        "GELU, softplus) or several reductions of one row"
    )
    parameters: ClassVar[tuple[ParameterRange, ...]] = (ParameterRange(name="span", choices=("chain", "seed")),)
    example: ClassVar[Example] = Example(
        build=_example, says="A bias, GELU, Mish and a residual, in one pass over memory."
    )

    def places(self, graph: GraphModule, target: Target, arguments: Mapping[str, Scalar]) -> Iterator[Rewrite]:
        """One rewrite per chain, named after the first of its operations that is worth a kernel."""
        if "cpp" not in target.languages or toolchain.compiler() is None:
            return
        span = str(arguments.get("span", "chain"))
        order = {node: place for place, node in enumerate(graph.graph.nodes)}
        taken: set[Node] = set()
        for seed in calls(graph, *SEEDS):
            region = _region(seed, order, alone=span == "seed") if seed not in taken and _worth_a_kernel(seed) else None
            if region is None:
                continue
            taken |= region.nodes
            if at(seed, arguments):
                program, operands, results = program_of(region, order)
                yield Rewrite(
                    step=step(self.name, seed, span=span),
                    nodes=tuple(node.name for node in sorted(region.nodes, key=order.__getitem__)),
                    gain_ns=_gain_ns(region, program, operands, results, target),
                    apply=partial(fuse, graph, program, operands, results),
                )

    def why_not(self, graph: GraphModule, target: Target) -> str:
        """What is missing."""
        if "cpp" not in target.languages:
            return f"Kernels of this family are C++, which {target.name} does not take."
        if toolchain.compiler() is None:
            return "There is no C++ compiler on the path; install g++ or clang++, or set CXX."
        seeds = list(calls(graph, *SEEDS))
        if not seeds:
            return "The graph has no function or row reduction that is worth a kernel of its own."
        return f"{seeds[0].name} has a type, a symbolic size or reduced dimensions that these kernels do not handle."


def _worth_a_kernel(seed: Node) -> bool:
    """Reductions alone are left to the compiler, which does one pass as well as anyone."""
    return seed.target not in REDUCTIONS and translation_of(seed) is not None


def _region(seed: Node, order: dict[Node, int], *, alone: bool) -> Region | None:
    space = space_of(seed)
    if space is None:
        return None
    region = Region(space, order)
    if not region.admits(seed):
        return None
    region.grow(seed, alone)
    rows = region.rows_beside() if not alone and space.rows == 0 else 0
    if rows == 0:
        return region
    wider = Region(Space(space.shape, rows), order)
    wider.grow(seed, alone)
    return wider


def _gain_ns(
    region: Region, program: Program, operands: Sequence[Node], results: Sequence[Node], target: Target
) -> float:
    """Operations saved, as far as they are more than the memory that is moved anyway; minus one call."""
    moved_ns = memory_ns(traffic_bytes([*operands, *results]), target)
    compiler, own = 0.0, 0.0
    for instruction in program.steps:
        compiler += _COMPILER_COST.get(instruction.operation, 1)
        own += _OWN_COST.get(instruction.operation, 1)
    reductions = max(program.depths)
    elements = float(math.prod(region.space.shape))
    compiler_ns = vector_ns(elements * (compiler + _REDUCTION_GAIN * reductions), target)
    return max(moved_ns, compiler_ns) - max(moved_ns, vector_ns(elements * own, target)) - call_ns(1, target)


ITEM = FusedElementwise()
