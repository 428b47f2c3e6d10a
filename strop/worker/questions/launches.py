"""How fast each launch of a generated kernel is, and whether it leaves the same: many are tried alone, before any of
them is proposed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from strop.errors import NotSupported
from strop.lowering.kernel_edits import HASH, edited_source, with_hashes
from strop.lowering.lower import LoweredGraph
from strop.lowering.torch_shims import compiling_kernel, launches_seen
from strop.profiling import KERNEL_RANGES
from strop.profiling.alone import launch_time_ns
from strop.records.graph import CompiledKernel, KernelKind
from strop.records.recipe import Step
from strop.targets._devices import on_host
from strop.transforms._kernel_text import read_kernel
from strop.wire.launches import AskLaunches, LaunchesReply, LaunchTime
from strop.worker.guard import Blamed, foreign
from strop.worker.questions._base import Question, plain_call
from strop.worker.session import Session
from strop.worker.sieve import Launch, Sieve

LOG = logging.getLogger("strop.worker")

Arguments = tuple[Any, ...]
Compiling = Callable[[], Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class _Place:
    """A kernel as it stands in a graph, and what it was launched with."""

    kernel: CompiledKernel
    graph: LoweredGraph
    arguments: Arguments
    in_form: Callable[[str], str]


class AboutLaunches(Question):
    """What is loaded is compiled once more and called once, when first asked, to see with which arguments its kernels
    are launched. Then each edit is launched with the same. One that leaves other values than the compiler's own version
    is not timed.
    """

    name = "launches"
    summary = "how long edits of a generated kernel take, each alone, and whether they leave the same"

    def answer(self, session: Session, request: AskLaunches) -> LaunchesReply:
        """Time the edits in turn, as many as the time allows; those of one kernel beside its own version.

        Raises:
            NotSupported: what is loaded was not compiled here, or not for an accelerator.
        """
        until_s = time.monotonic() + request.limit_s
        with session.opened.calling():
            places = session.launched = session.launched or _places(session)
            times: list[LaunchTime] = []
            for wanted in dict.fromkeys(step.argument(HASH, "") for step in request.steps):
                steps = [step for step in request.steps if step.argument(HASH, "") == wanted]
                place = places.get(str(wanted))
                times += _timed(place, steps, request.cache_bytes, until_s) if place else []
        return LaunchesReply(times=tuple(times))


def _places(session: Session) -> Mapping[str, _Place]:
    """Every generated Triton kernel by its hash."""
    runner = session.runner
    if runner.recompile is None or on_host(session.opened.workload.device):
        raise NotSupported("Only kernels that Inductor generated for an accelerator can be launched by themselves.")
    with foreign(runner.who, "Compiling it again"):
        lowered = runner.recompile(KERNEL_RANGES).lowered
    call = plain_call(session, lowered)
    with launches_seen() as seen:
        call()
    found = [(kernel, graph) for graph in lowered.graphs for kernel in with_hashes(graph.output).kernels]
    names = [kernel.name for kernel, _ in found if kernel.kind is KernelKind.GENERATED]
    graphs_of = {name: {id(graph) for kernel, graph in found if kernel.name == name} for name in names}
    forms = {id(graph): cache(graph.in_form) for graph in lowered.graphs}
    # Two graphs number their kernels alike; a launch does not say which of them it belongs to.
    return {
        kernel.hash: _Place(kernel, graph, seen[kernel.name], forms[id(graph)])
        for kernel, graph in found
        if kernel.hash and kernel.name in seen and len(graphs_of[kernel.name]) == 1
    }


def _timed(place: _Place, steps: Sequence[Step], cache_bytes: int, until_s: float) -> list[LaunchTime]:
    """The times of some edits of one kernel; they are compiled side by side, and all before the first is launched."""
    compiling_own = compiling_kernel(place.kernel.name, place.kernel.source)
    begun = [(step, _begun(place, step)) for step in steps]
    own = _launch(place, compiling_own)
    sieve = _sieve(place, own)
    own_ns = launch_time_ns(own, cache_bytes)
    times: list[LaunchTime] = []
    for step, compiling in begun:
        if time.monotonic() > until_s:
            break
        try:
            if isinstance(compiling, Blamed):
                raise compiling
            with foreign("candidate", f"{place.kernel.name} as edited"):
                launch = _launch(place, compiling)
                if sieve is not None:
                    sieve.check(launch)
                taken_ns = launch_time_ns(launch, cache_bytes)
            times.append(LaunchTime(step=step, time_ns=taken_ns, own_ns=own_ns))
        except Blamed as fault:
            times.append(LaunchTime(step=step, because=fault.detail))
    if sieve is not None:
        # Timing wears what a kernel changes in place, and other kernels read that too.
        sieve.put_back()
    return times


def _begun(place: _Place, step: Step) -> Compiling | Blamed:
    """The edit on its way through the compiler, or why there is none."""
    name = place.kernel.name
    try:
        with foreign("candidate", f"Editing {name}"):
            return compiling_kernel(name, edited_source(place.graph.wrapper, name, step, place.in_form))
    except Blamed as fault:
        return fault


def _launch(place: _Place, compiling: Compiling) -> Launch:
    """Wait for the compiler; what is returned launches the kernel on the recorded arguments."""
    run, stream = compiling(), _stream()
    return lambda: run(*place.arguments, stream=stream)


def _sieve(place: _Place, own: Launch) -> Sieve | None:
    """None without room for copies of the arguments, or for a text that does not say what they are called."""
    text = read_kernel(place.kernel.source)
    try:
        return Sieve(text, place.arguments, own) if text is not None else None
    except torch.OutOfMemoryError:
        LOG.warning("there is no memory to compare what edits of %s leave; they are timed alone", place.kernel.name)
        return None


def _stream() -> int:
    """The stream on which everything runs here, as generated code names it."""
    return torch.cuda.current_stream().cuda_stream


ITEM = AboutLaunches()
