"""Lowering: a module is compiled through the capture road, each graph rewritten on its way to Inductor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch._dynamo import config as dynamo_config
from torch._dynamo.exc import BackendCompilerFailed
from torch.fx import GraphModule

from strop.capture.compiler_output import compiler_output
from strop.capture.graph_record import graph_record
from strop.capture.placeholders import STATIC
from strop.capture.recorder import MANY
from strop.capture.road import compile_through, own_errors
from strop.errors import BadCandidate, NotSupported
from strop.lowering.cuda_graph import Graphed, GraphPool
from strop.lowering.frozen import Packed, split_frozen
from strop.lowering.kernel_edits import CPP_WRAPPER, KernelEdits, with_hashes
from strop.lowering.modes import inductor_options
from strop.lowering.retrace import fake_inputs, keep_promises, origin_names, output_values, retrace, settle
from strop.lowering.torch_shims import (
    compile_inference,
    edited_wrapper,
    kernel_origins,
    patched_options,
    source_of,
    wrapper_text,
)
from strop.records.graph import CompilerOutput, KernelEdit
from strop.records.recipe import Step
from strop.transforms._base import PERSISTENT
from strop.transforms._graph import CUDA_GRAPH

Rewrite = Callable[[GraphModule], GraphModule]
"""Changes a captured graph, in place or not, and returns what is to be compiled."""


def unchanged(graph: GraphModule) -> GraphModule:
    """The empty rewrite: what comes out is what ``torch.compile`` would have made."""
    return graph


@dataclass(frozen=True, slots=True)
class LoweringOptions:
    """How the rewritten graph is compiled.

    ``mode`` is a mode of ``torch.compile``, ``inductor`` holds Inductor options on top (``{"cpp.simdlen": 256}``);
    ``dynamic`` as in ``torch.compile``; ``observe`` notes the origins of kernels (slower to compile, same code).
    ``known`` holds the ids of the captured graphs that may be rewritten, None when all may. Any other graph, whenever
    it turns up, runs as it was captured, and ``Lowered.strayed`` says so. ``edits`` are steps that change generated
    kernels (:mod:`strop.lowering.kernel_edits`).
    """

    mode: str = "default"
    inductor: Mapping[str, Any] = field(default_factory=dict)
    dynamic: bool | None = None
    observe: bool = False
    known: Set[str] | None = None
    edits: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class LoweredGraph:
    """One graph of a lowered module: ids before and after the rewrite, what Inductor wrote, the packs if there are any.
    ``in_form`` has Inductor write it again with all reductions in one form.

    ``origins`` and ``names`` say where kernels came from; without ``observe`` the former is empty and comments have
    to do.
    """

    captured_id: str
    rewritten_id: str
    wrapper: str
    packed: Packed | None
    origins: Mapping[str, tuple[str, ...]]
    names: Mapping[str, str]
    in_form: Callable[[str], str]

    @property
    def output(self) -> CompilerOutput:
        """The kernels that the compiler made, with the nodes of the rewritten graph that they came from."""
        found = compiler_output(self.wrapper, origins=self.origins, names=self.names, graph_id=self.captured_id)
        return with_hashes(found)


class Lowered:
    """A drop-in for the module's call. Compiles on the first call; call it under ``torch.no_grad()``.

    ``strayed`` is empty until a call leaves the graphs that may be rewritten; it then says how.
    """

    def __init__(self, module: torch.nn.Module, rewrite: Rewrite, options: LoweringOptions) -> None:
        self.graphs: list[LoweredGraph] = []
        self.strayed = ""
        self._rewrite = rewrite
        self._options = options
        self._graph_pool = GraphPool()
        self._inductor = inductor_options(options.mode, options.inductor)
        if options.edits and self._inductor.get("cpp_wrapper"):
            raise BadCandidate(CPP_WRAPPER)
        self._edits = KernelEdits.of(options.edits)
        self._compiled = compile_through(module, self._compile, dynamic=options.dynamic)
        self._run: Callable[..., Any] = self._first_run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module; recompiles by itself when Dynamo's guards ask for it."""
        try:
            return self._run(*args, **kwargs)
        except BackendCompilerFailed:
            with own_errors():
                raise

    def repack(self) -> None:
        """Compute again what was computed from parameters alone; needed after writes unseen by torch (``.data``)."""
        for graph in self.graphs:
            if graph.packed is not None:
                graph.packed.repack()

    @property
    def pack_bytes(self) -> int:
        """Memory taken by what was computed from parameters alone."""
        return sum(graph.packed.pack_bytes for graph in self.graphs if graph.packed is not None)

    @property
    def edits(self) -> tuple[KernelEdit, ...]:
        """How steps changed generated kernels, in the order of the steps; complete after the first call."""
        return tuple(self._edits.done[step] for step in self._edits.steps if step in self._edits.done)

    def _first_run(self, *args: Any, **kwargs: Any) -> Any:
        # Dynamo counts recompilations per code object, over all modules of a class, and past its limit runs eagerly
        # without a word.
        limits = dynamo_config.patch(recompile_limit=MANY, accumulated_recompile_limit=MANY)
        with limits:
            result = self._compiled(*args, **kwargs)
        if not self.graphs and self._options.known is None:
            raise NotSupported("Dynamo compiled no graph of this module, so the call ran eagerly; `capture` says why.")
        if not self.graphs and not self.strayed:
            self.strayed = "Dynamo compiled no graph of the module"
        if not self.strayed:
            self._edits.require_all()
        self._run = self._compiled
        return result

    def _compile(self, graph: GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        captured, promised = graph_record(graph), output_values(graph)
        known = self._options.known
        if known is not None and captured.id not in known:
            # Not an error: where there are graph breaks, parts of this call have run already and must not run again.
            self.strayed = f"the module is captured as another graph ({captured.id}) than those that were judged"
            return graph
        rewritten = settle(self._rewrite(graph))
        keep_promises(rewritten, promised)
        rewritten_id = graph_record(rewritten).id
        split = split_frozen(rewritten)
        static = _static_positions(split.rest)
        with ExitStack() as stack:
            stack.enter_context(patched_options(self._inductor))
            if self._edits.steps:
                # Before the compilation that is edited: Inductor does not compile while it compiles.
                forms = {form: self._wrapper_in(form, split.rest, static) for form in self._edits.forms}
                stack.enter_context(edited_wrapper(lambda text: self._edits.apply(text, captured.id, forms)))
            origins = stack.enter_context(kernel_origins()) if self._options.observe else {}
            core = retrace(split.rest)
            names = origin_names(core)
            compiled = compile_inference(core, fake_inputs(split.rest), static)
        wrapper = source_of(compiled)
        if rewritten.meta.get(CUDA_GRAPH):
            compiled = Graphed(compiled, static, self._graph_pool)
        packed = Packed(compiled, split) if split.prologue is not None else None
        in_form = partial(self._wrapper_in, rest=split.rest, static=static)
        self.graphs.append(LoweredGraph(captured.id, rewritten_id, wrapper, packed, origins, names, in_form))
        return packed or compiled

    def _wrapper_in(self, form: str, rest: GraphModule, static: Sequence[int]) -> str:
        with patched_options(self._inductor):
            return wrapper_text(retrace(rest), fake_inputs(rest), static, persistent=form == PERSISTENT)


def _static_positions(module: GraphModule) -> list[int]:
    slots = [node for node in module.graph.nodes if node.op == "placeholder"]
    return [position for position, node in enumerate(slots) if node.meta.get(STATIC)]


def lower(module: torch.nn.Module, rewrite: Rewrite = unchanged, options: LoweringOptions | None = None) -> Lowered:
    """Compile ``module`` with ``rewrite`` applied to each of its captured graphs.

    Args:
        module: called under ``no_grad``, in the mode (train or eval) that it is in when it is called.
        rewrite: see :data:`Rewrite`; it is called once per graph and per recompilation.
        options: mode and Inductor options.

    Raises:
        UsageError: at once for an unknown mode or option; on the first call when the graph cannot be handled.
    """
    return Lowered(module, rewrite, options or LoweringOptions())
