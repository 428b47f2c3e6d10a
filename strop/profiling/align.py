"""Which range of the trace is which kernel of the compiled program: both come in call order, so names and order
decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from strop.profiling.trace import Span
from strop.records.graph import CompiledKernel, KernelKind

# Inductor's C++ wrapper leaves the graph's number out.
_WRAPPER = re.compile(r"\A(?:graph_(\d+)_)?inductor_wrapper_call\Z")
_GRAPH = re.compile(r"\Agraph_\d+_")
# Kernels and library calls that carry neither a graph's number nor a name space.
_PLAIN = ("cpp_", "triton_", "aoti_torch_")
# Library calls that Inductor names otherwise than the operator that they run.
_SAME = {"bias_addmm": "addmm"}


@dataclass(frozen=True, slots=True)
class Matched:
    """One call of one compiled kernel; ``kernel`` is None for a range that no compiled kernel explains."""

    kernel: CompiledKernel | None
    position: int
    span: Span


def plain_name(span: Span) -> str:
    """A range's name without the number of its graph."""
    return _GRAPH.sub("", span.name)


def wrapper_regions(call: Span) -> list[Span]:
    """The ranges in which compiled graphs ran, in order of time."""
    return [span for span in call.walk() if _WRAPPER.match(span.name)]


def graph_number(region: Span) -> int:
    """Number that the compiler gave to the graph of a region; graphs are counted as they are compiled."""
    found = _WRAPPER.match(region.name)
    return int(found.group(1) or 0) if found else 0


def match_region(region: Span, kernels: Sequence[CompiledKernel]) -> tuple[list[Matched], list[CompiledKernel]]:
    """Pair the ranges of a region with the graph's kernels. Returns the ranges, and the kernels that left none.

    Both sequences are walked once: a kernel takes the next range of its name, and ranges that were passed over on the
    way belong to nobody.
    """
    spans = [span for span in region.children if _is_kernel_or_operator(span)]
    matched: list[Matched] = []
    missing: list[CompiledKernel] = []
    at = 0
    for position, kernel in enumerate(kernels):
        key = kernel_key(kernel)
        found = next((i for i in range(at, len(spans)) if span_key(spans[i]) == key), None)
        if found is None:
            missing.append(kernel)
            continue
        matched += [Matched(None, -1, span) for span in spans[at:found]]
        matched.append(Matched(kernel, position, spans[found]))
        at = found + 1
    matched += [Matched(None, -1, span) for span in spans[at:]]
    return matched, missing


def closeness(region: Span, kernels: Sequence[CompiledKernel]) -> float:
    """How well a graph's generated kernels fit a region: 1 when they are the same, 0 when they have none in common."""
    here = {span_key(span) for span in region.children if _is_kernel_or_operator(span)}
    there = {kernel_key(kernel) for kernel in kernels}
    return len(here & there) / len(here | there) if here | there else 1.0


def kernel_key(kernel: CompiledKernel) -> str:
    """The name that the profiler shows, without graph number and name space."""
    if kernel.kind is KernelKind.GENERATED:
        return kernel.name
    parts = kernel.name.split(".")
    is_overload = kernel.name.startswith(("torch.ops.", "aten.")) and len(parts) > (3 if parts[0] == "torch" else 1) + 1
    name = parts[-2] if is_overload else parts[-1]
    return _SAME.get(name, name)


def span_key(span: Span) -> str:
    """The same for a range of the trace."""
    return _GRAPH.sub("", span.name).rsplit("::", maxsplit=1)[-1]


def loose_operators(call: Span) -> list[Span]:
    """The outermost operators of a call outside compiled graphs, in order of time: eager code."""
    found: list[Span] = []
    for child in call.children:
        if _WRAPPER.match(child.name):
            continue
        if "::" in child.name:
            found.append(child)
        else:
            found += loose_operators(child)
    return found


def _is_kernel_or_operator(span: Span) -> bool:
    return bool(_GRAPH.match(span.name)) or "::" in span.name or span.name.startswith(_PLAIN)
