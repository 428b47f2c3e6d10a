"""Capture: run a workload once through the road with a recorder in the compiler's place; keep graphs and tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._dynamo import config as dynamo_config
from torch.fx import GraphModule

from strop.capture.breaks import graph_breaks
from strop.capture.graph_record import graph_record
from strop.capture.placeholders import Placeholder, input_paths, name_inputs, placeholders
from strop.capture.road import compile_through, own_errors
from strop.errors import NotSupported
from strop.records.graph import Capture, CapturedGraph, GraphBreak

MANY = 1_000_000
"""A recompilation limit that is never reached: past Dynamo's own, a module silently runs uncompiled."""


@dataclass(frozen=True, slots=True)
class CapturedModule:
    """One captured graph, ready to be run by ``torch.fx.Interpreter``.

    ``inputs`` are the real values that the placeholders had, in their order: tensors, or integers for symbolic sizes.
    Inputs that the graph writes to are copies with the contents from before the call; the others are the very tensors
    of the caller.
    """

    module: GraphModule
    placeholders: tuple[Placeholder, ...]
    inputs: tuple[Any, ...]
    record: CapturedGraph


@dataclass(slots=True)
class Captured:
    """What one call of a module went through: graphs in the order in which they first ran, breaks, the result."""

    modules: list[CapturedModule] = field(default_factory=list)
    breaks: list[GraphBreak] = field(default_factory=list)
    result: Any = None

    @property
    def record(self) -> Capture:
        """The metadata alone, which may cross the wall."""
        return Capture(graphs=tuple(each.record for each in self.modules), breaks=tuple(self.breaks))


def capture(
    module: torch.nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic: bool = False,
) -> Captured:
    """Call ``module`` once under ``no_grad`` and record every graph that it goes through.

    Random number generators, buffers and arguments that the graphs write to are put back as they were.

    Args:
        module: the module in the mode (train or eval) in which it is to be captured.
        args: positional arguments of the call.
        kwargs: keyword arguments of the call.
        dynamic: True for symbolic shapes, False for exactly the shapes of this call.

    Raises:
        NotSupported: when nothing could be captured, or the graph is distributed or spread over devices.
    """
    recorder = _Recorder(input_paths(module, args, kwargs or {}))
    compiled = compile_through(module, recorder, dynamic=dynamic)
    captured = Captured()
    with _undisturbed(recorder), graph_breaks() as breaks, own_errors(), torch.no_grad():
        captured.result = compiled(*args, **(kwargs or {}))
    captured.breaks = breaks
    captured.modules = recorder.taken()
    if not captured.modules:
        raise NotSupported(_nothing_captured(breaks))
    return captured


def captured_modules(
    module: torch.nn.Module, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> list[CapturedModule]:
    """The graphs of one call with the tensors bound to their placeholders; see :func:`capture`."""
    return capture(module, args, kwargs).modules


def run_graph(module: GraphModule, inputs: Sequence[Any]) -> list[Any]:
    """Run a captured graph on other tensors than its own (another precision, say); it may write to them."""
    with torch.no_grad():
        return list(torch.fx.Interpreter(module).run(*inputs))


class _Recorder:
    """A ``compile_graph`` that returns the graph itself and remembers what it was first called with."""

    def __init__(self, paths: Mapping[int, str]) -> None:
        self.modules: list[CapturedModule] = []
        self._paths = paths
        self._undo: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __call__(self, module: GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        done = False

        def run(*given: Any) -> Any:
            nonlocal done
            if not done:
                done = True
                self._record(module, given)
            return module(*given)

        return run

    def _record(self, module: GraphModule, given: Sequence[Any]) -> None:
        name_inputs(module, given, self._paths)
        seen = placeholders(module)
        self.modules.append(CapturedModule(module, seen, self._kept(seen, given), graph_record(module)))

    def _kept(self, seen: Sequence[Placeholder], given: Sequence[Any]) -> tuple[Any, ...]:
        kept = [value.clone() if slot.mutated else value for slot, value in zip(seen, given, strict=True)]
        self._undo += [(value, copy) for value, copy in zip(given, kept, strict=True) if value is not copy]
        return tuple(kept)

    def taken(self) -> list[CapturedModule]:
        """What was recorded, which is not kept here: Dynamo's cache keeps the recorder for ever."""
        taken, self.modules = self.modules, []
        self._undo.clear()
        return taken

    def restore(self) -> None:
        """Put back what the graphs wrote to; the last first, since a later graph may have seen an earlier write."""
        for value, copy in reversed(self._undo):
            value.copy_(copy)


@contextmanager
def _undisturbed(recorder: _Recorder) -> Iterator[None]:
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    limits = dynamo_config.patch(recompile_limit=MANY, accumulated_recompile_limit=MANY)
    with torch.random.fork_rng(devices), limits:
        try:
            yield
        finally:
            with torch.no_grad():
                recorder.restore()


def _nothing_captured(breaks: Sequence[GraphBreak]) -> str:
    why = "; ".join(f"{each.reason} ({each.where})" for each in breaks) or "Dynamo found no tensor operation to trace"
    return f"Dynamo could not capture this module: {why}. Move the code that it names out of forward()."
