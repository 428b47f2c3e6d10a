"""The profile of a call: kernel by kernel, beside the time of the call as a whole."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torch.fx import GraphModule, Node

from strop.profiling.align import (
    Matched,
    closeness,
    graph_number,
    loose_operators,
    match_region,
    plain_name,
    wrapper_regions,
)
from strop.profiling.arguments import kernel_bytes
from strop.profiling.cost import Cost, is_product, region_cost
from strop.profiling.eager import Operator, dtype_of, kind_of, metered, nodes_in_order, pair_operators
from strop.profiling.launched import device_kernels
from strop.profiling.trace import Launch, Span, launches_graphs, plain_call_ns, trace_calls
from strop.records.graph import CompiledKernel, CompilerOutput, KernelKind
from strop.records.tensor import HOST
from strop.targets._devices import on_host, synchronise
from strop.targets._kernel_names import library_of, plain_kernel_name
from strop.wire.messages import KernelSample, ProfileReply

KERNEL_RANGES: Mapping[str, object] = {
    "cpp.enable_kernel_profile": True,
    "profiler_mark_wrapper_call": True,
    # Kernels that a graph launches leave no range of their own.
    "triton.cudagraphs": False,
}
"""Inductor options under which a program must be compiled for its profile: kernels then leave ranges in the trace."""

# What these options write into a generated kernel: the range, and the header that declares it.
_RANGE = re.compile(
    r"^(?:[ \t]*torch::aot_inductor::RAIIAtenRecordFunctionHandle record_\w*\(.*\);[ \t]*"
    r"|[ \t]*RECORD_FUNCTION\(.*\);[ \t]*"
    r"|#include <(?:torch/csrc/inductor/aoti_runtime/utils|ATen/record_function)\.h>[ \t]*)\n",
    re.MULTILINE,
)
# A range that no kernel explains and that takes less than this share of the call is overhead.
WORTH_NAMING = 0.001
# From where on the profiler's own cost, or kernels that ran side by side, are worth a note.
NOTEWORTHY = 1.02
SIDE_BY_SIDE = 1.05
TIMED_AS_GRAPH = "The call runs as a CUDA graph and was timed as one; its kernels were timed without it."


@dataclass(slots=True)
class _Entry:
    """One line of the profile while it is collected: its time in each traced call."""

    language: str
    nodes: tuple[str, ...]
    cost: Cost
    dtype: str
    is_named: bool
    graph_id: str = ""
    compiled: CompiledKernel | None = None
    times_ns: list[float] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)
    launched: list[list[Launch]] = field(default_factory=list)

    def at(self, call: int) -> None:
        """Have room for a traced call."""
        while len(self.times_ns) <= call:
            self.times_ns.append(0.0)
            self.launches.append(0)
            self.launched.append([])


Key = tuple[str, str]
Origin = tuple[str, str]
"""Graph id and node name."""


def profile_calls(
    call: Callable[[], object],
    calls: int,
    outputs: Sequence[CompilerOutput] = (),
    graphs: Mapping[str, GraphModule] | None = None,
    device: str = HOST,
    *,
    timed: Callable[[], object] | None = None,
    settle: Callable[[], object] | None = None,
) -> ProfileReply:
    """Profile ``calls`` calls of ``call``, which takes no arguments; on an accelerator it may return before its work
    has ended.

    Args:
        call: what is profiled; it was called before, so everything is compiled, with `KERNEL_RANGES` for compiled
            programs.
        calls: how many calls are traced.
        outputs: what the compiler made, one per graph in the order of compilation; empty for eager code.
        graphs: the captured graphs by id, with the shapes that capture left on their nodes; kernels whose graph is not
            among them come back without bytes and operations.
        device: where it runs; kernels are given that device's time.
        timed: what ``call_ns`` is the time of, where that is not ``call``: the same program without the ranges.
        settle: returns when everything that was started has ended; by default it waits for ``device``.

    Times are medians over the traced calls, and totals over all launches of one call. ``call_ns`` is the median time
    of a call with no profiler running. On the host, where the profiler's own cost makes the kernels add up to more than
    that, they are scaled down to it and a note says so; an accelerator's kernels have the time that the device itself
    noted, each in one line, those that no range launched under their own names. Every kernel of ``outputs`` is in the
    answer, with what the compiler made; one that left no range has no calls and no time. Kernel ranges: torch.profiler
    with Inductor's ``cpp.enable_kernel_profile``.
    """
    graphs = graphs or {}
    settle = settle or (lambda: synchronise(device))
    call_ns = plain_call_ns(timed or call, calls, settle, device)
    traces = trace_calls(call, calls, settle, device)
    book = _Book(outputs, graphs, device)
    if timed is not None and launches_graphs(timed, settle, device):
        book.notes.append(TIMED_AS_GRAPH)
    for number, trace in enumerate(traces):
        book.start_call(number)
        for region in wrapper_regions(trace):
            book.enter_region(region)
    if any(loose_operators(trace) for trace in traces):
        operators = metered(call)
        for number, trace in enumerate(traces):
            book.start_call(number)
            book.enter_eager(trace, operators)
    book.end(traces)
    return _reply(call_ns, book)


class _Book:
    """Collects entries over the traced calls."""

    def __init__(
        self, outputs: Sequence[CompilerOutput], graphs: Mapping[str, GraphModule], device: str = HOST
    ) -> None:
        self.is_host = on_host(device)
        self.entries: dict[Key, _Entry] = {}
        self.notes: list[str] = [note for output in outputs for note in output.notes]
        self._outputs = outputs
        self._nodes = {name: {node.name: node for node in module.graph.nodes} for name, module in graphs.items()}
        self._graphs = graphs
        self._sizes = [_argument_bytes(output) for output in outputs]
        self._library = [_library_products(output, self._nodes) for output in outputs]
        self._graph_of: dict[int, int] = {}
        self._call = 0
        self._booked: set[int] = set()

    def start_call(self, number: int) -> None:
        """What is booked next belongs to traced call ``number``."""
        self._call = number

    def enter_region(self, region: Span) -> None:
        """Book what ran in one compiled graph."""
        which = self._output_of(region)
        if which is None:
            self._note("A compiled graph ran that the compiler's output does not show; its kernels have no origin.")
        kernels = self._outputs[which].kernels if which is not None else ()
        matched, missing = match_region(region, kernels)
        for one in matched:
            self._book(one, which)
        for kernel in missing:
            self._note(f"{kernel.name} left no range in the trace; its time is part of the overhead.")

    def enter_eager(self, trace: Span, operators: Sequence[Operator]) -> None:
        """Book operators that ran outside compiled graphs."""
        origins = self._origins(operators)
        seen: Counter[str] = Counter()
        for span, ran in pair_operators(loose_operators(trace), operators):
            found: list[Origin] = []
            for operator in ran:
                kind = kind_of(operator.name)
                found += origins.get(kind, ())[seen[kind] : seen[kind] + 1]
                seen[kind] += 1
            nodes, graph_id = _of_one_graph(found)
            cost = Cost(sum(o.cost.moved_bytes for o in ran), sum(o.cost.work_flop for o in ran))
            heaviest = max(ran, key=lambda operator: operator.cost.work_flop, default=None)
            dtype = heaviest.dtype if heaviest else "float32"
            entry = _Entry("library", nodes, cost, dtype, is_named=bool(nodes), graph_id=graph_id)
            self._add((span.name, ",".join((graph_id, *nodes))), span, entry)

    def _origins(self, operators: Sequence[Operator]) -> dict[str, tuple[Origin, ...]]:
        """For operators that ran as often as the graphs have such nodes: those nodes, in order."""
        if self._outputs:
            return {}
        nodes: dict[str, tuple[Origin, ...]] = {}
        for graph_id, module in self._graphs.items():
            for name, found in nodes_in_order(module).items():
                nodes[name] = (*nodes.get(name, ()), *((graph_id, node) for node in found))
        ran = Counter(kind_of(operator.name) for operator in operators)
        return {name: found for name, found in nodes.items() if ran[name] == len(found)}

    def _book(self, one: Matched, which: int | None) -> None:
        if one.kernel is None or which is None:
            name = plain_name(one.span)
            language = next((each for each in ("cpp", "triton") if name.startswith(f"{each}_")), "library")
            entry = _Entry(language, (), Cost(0, 0), "float32", is_named=False)
            self._add((name, ""), one.span, entry)
            return
        key, entry = self._entry(one.kernel, one.position, which)
        self._add(key, one.span, entry)

    def _entry(self, kernel: CompiledKernel, position: int, which: int) -> tuple[Key, _Entry]:
        cost, dtype = self._cost(kernel, position, which)
        entry = _Entry(
            kernel.language, kernel.nodes, cost, dtype, is_named=True, graph_id=kernel.graph_id, compiled=kernel
        )
        return (kernel.name, f"{which}:{position}"), entry

    def enter_rest(self, trace: Span) -> None:
        """Book, under their own names, the device's kernels that no booked range launched."""
        for launch in self._unbooked(trace):
            language = "library" if library_of(launch.name) else "device"
            entry = _Entry(language, (), Cost(0, 0), "float32", is_named=False)
            name = plain_kernel_name(launch.name)
            self._add((name, "device"), Span(name, launch.duration_ns, (), (launch,)), entry)

    def _unbooked(self, span: Span) -> Iterator[Launch]:
        if id(span) in self._booked:
            return
        yield from span.launches
        for child in span.children:
            yield from self._unbooked(child)

    def end(self, traces: Sequence[Span]) -> None:
        """Book what is left of all calls, and, without a time, the kernels that left no range in any of them."""
        for number, trace in enumerate(traces):
            self.start_call(number)
            self.enter_rest(trace)
        for entry in self.entries.values():
            entry.at(len(traces) - 1)
        for which, output in enumerate(self._outputs):
            for position, kernel in enumerate(output.kernels):
                key, entry = self._entry(kernel, position, which)
                if key not in self.entries:
                    self.entries[key] = replace(entry, times_ns=[0.0], launches=[0])

    def _add(self, key: Key, span: Span, fresh: _Entry) -> None:
        """Add one launch to its line; costs are totals of a call, so those of the first call count."""
        entry = self.entries.setdefault(key, fresh)
        entry.at(self._call)
        if entry is not fresh and self._call == 0:
            entry.cost = Cost(*(one + more for one, more in zip(entry.cost, fresh.cost, strict=True)))
        entry.times_ns[self._call] += span.duration_ns
        entry.launches[self._call] += 1
        entry.launched[self._call] += span.launched()
        self._booked.add(id(span))

    def _output_of(self, region: Span) -> int | None:
        number = graph_number(region)
        if number not in self._graph_of:
            free = [i for i in range(len(self._outputs)) if i not in self._graph_of.values()]
            best = max(free, key=lambda i: (closeness(region, self._outputs[i].kernels), -i), default=None)
            if best is None or closeness(region, self._outputs[best].kernels) == 0.0:
                return None
            self._graph_of[number] = best
        return self._graph_of[number]

    def _cost(self, kernel: CompiledKernel, position: int, which: int) -> tuple[Cost, str]:
        known = self._nodes.get(kernel.graph_id, {})
        nodes = [known[name] for name in kernel.nodes if name in known]
        cost = region_cost(nodes)
        work = cost.work_flop
        if kernel.kind is KernelKind.GENERATED and self._library[which].intersection(nodes):
            # The product itself runs in the library; this kernel only prepares or finishes it.
            work = region_cost([node for node in nodes if not is_product(node)]).work_flop
        sizes = self._sizes[which].get(position)
        moved = cost.moved_bytes if sizes is None else min(sizes, cost.moved_bytes or sizes)
        return Cost(moved, work), dtype_of(nodes)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _of_one_graph(found: Sequence[Origin]) -> tuple[tuple[str, ...], str]:
    """The nodes that belong to the graph of the first, and that graph's id."""
    if not found:
        return (), ""
    graph_id = found[0][0]
    return tuple(node for graph, node in found if graph == graph_id), graph_id


def _argument_bytes(output: CompilerOutput) -> dict[int, int]:
    """Bytes of the generated kernels' arguments by position among the graph's kernels, where the wrapper says them."""
    sources = {k.name: k.source for k in output.kernels if k.kind is KernelKind.GENERATED}
    found = {name: iter(sizes) for name, sizes in kernel_bytes(output.wrapper, sources).items()}
    by_position: dict[int, int] = {}
    for position, kernel in enumerate(output.kernels):
        size = next(found[kernel.name], None) if kernel.name in found else None
        if size is not None:
            by_position[position] = size
    return by_position


def _library_products(output: CompilerOutput, nodes: Mapping[str, Mapping[str, Node]]) -> set[Node]:
    """Products that a library call of this graph computes."""
    named = [
        nodes.get(kernel.graph_id, {}).get(name)
        for kernel in output.kernels
        if kernel.kind is KernelKind.EXTERN
        for name in kernel.nodes
    ]
    return {node for node in named if node is not None and is_product(node)}


def without_ranges(source: str) -> str:
    """A generated kernel as the compiler writes it when nobody watches: without what `KERNEL_RANGES` added."""
    return _RANGE.sub("", source)


def _reply(call_ns: float, book: _Book) -> ProfileReply:
    samples = [
        _sample(name, entry) for (name, _), entry in book.entries.items() if _is_listed(entry, call_ns, book.is_host)
    ]
    spent = sum(sample.time_ns for sample in samples)
    notes = list(book.notes)
    if book.is_host and spent > call_ns:
        if spent > NOTEWORTHY * call_ns:
            notes.append(f"Kernel times were scaled by {call_ns / spent:.2f}: the profiler itself slowed them down.")
        samples = [replace(sample, time_ns=sample.time_ns * call_ns / spent) for sample in samples]
    elif spent > SIDE_BY_SIDE * call_ns:
        notes.append(
            f"Kernels add up to {spent / call_ns:.2f} times the call: some ran side by side, or the device's clock "
            "changed between the two measurements."
        )
    heaviest = sorted(samples, key=lambda sample: -sample.time_ns)
    return ProfileReply(call_ns=call_ns, kernels=tuple(heaviest), notes=tuple(notes))


def _is_listed(entry: _Entry, call_ns: float, is_host: bool) -> bool:
    """Ranges that no kernel explains are listed by their time: on a device every nanosecond is some kernel's."""
    time_ns = statistics.median(entry.times_ns)
    return entry.is_named or (time_ns >= WORTH_NAMING * call_ns if is_host else time_ns > 0)


def _sample(name: str, entry: _Entry) -> KernelSample:
    return KernelSample(
        name=name,
        language=entry.language,
        nodes=entry.nodes,
        calls=round(statistics.median(entry.launches)),
        time_ns=float(statistics.median(entry.times_ns)),
        moved_bytes=entry.cost.moved_bytes,
        work_flop=entry.cost.work_flop,
        dtype=entry.dtype,
        graph_id=entry.graph_id,
        kind=entry.compiled.kind if entry.compiled else None,
        launch=entry.compiled.launch if entry.compiled else "",
        source=without_ranges(entry.compiled.source) if entry.compiled else "",
        launched=device_kernels(entry.launched),
    )
