"""Every private door into Inductor that Strop uses, with the versions of torch for which each was tried.

Past the newest version that was tried, a door closes itself, says so once in the log and through
:func:`closed_doors`, and the caller takes the public way round. Nothing outside this file imports a private name of
Inductor.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch._inductor import compile_fx as inductor
from torch._inductor import config as inductor_config
from torch._inductor import debug as inductor_debug
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.cudagraph_utils import BoxedDeviceIndex
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.exc import InductorError
from torch._inductor.graph import GraphLowering
from torch._inductor.utils import BoxedBool
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule

from strop.errors import BadCandidate, NotSupported, StropError

log = logging.getLogger("strop.lowering")

LAST_LINES = 8
LAST_CHARS = 800
HEAD_CHARS = 200
_SAYS = re.compile(r"(?:\w+\.)*(?:CompilationError|OutOfResources|PTXASError|\w*Error): ")
"""Begins what a compiler has to say, in the traceback of the process that it ran in."""

_PATCHING = threading.RLock()
"""One thread at a time exchanges functions of Inductor: putting them back in another order would leave one behind."""

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Door:
    """One private way into torch: what it is for, the versions it was tried with, and what happens without it."""

    purpose: str
    oldest: Version
    newest: Version
    without: str


DOORS: Mapping[str, Door] = {
    "compile_inference": Door(
        purpose="hand a captured graph to Inductor without a second AOTAutograd around it",
        oldest=(2, 11),
        newest=(2, 14),
        without="compile_fx is used, which costs a few microseconds more per call",
    ),
    "kernel_origins": Door(
        purpose="learn from which graph nodes each kernel came",
        oldest=(2, 11),
        newest=(2, 14),
        without="kernels are described by the operators in their names",
    ),
    "edited_wrapper": Door(
        purpose="change the text of a generated kernel before it is loaded",
        oldest=(2, 11),
        newest=(2, 14),
        without="recipes that edit or retune a generated kernel are refused",
    ),
    "kernel_launches": Door(
        purpose="see with which arguments generated kernels are launched",
        oldest=(2, 11),
        newest=(2, 14),
        without="launches are ranked by an estimate alone, and not measured before they are proposed",
    ),
    "compare_addresses": Door(
        purpose="compare the addresses of many tensors in one call",
        oldest=(2, 11),
        newest=(2, 14),
        without="they are compared one by one, which costs some microseconds per call of a captured graph",
    ),
}

_closed: set[str] = set()


def torch_version() -> Version:
    """Major and minor version of the torch that runs."""
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def is_open(name: str) -> bool:
    """Whether a private door may be used with this torch; a closed one is logged the first time."""
    door = DOORS[name]
    if door.oldest <= torch_version() <= door.newest:
        return True
    if name not in _closed:
        _closed.add(name)
        log.warning("%s", _notice(door))
    return False


def closed_doors() -> tuple[str, ...]:
    """One sentence per door that was wanted and found closed, for reports."""
    return tuple(_notice(DOORS[name]) for name in sorted(_closed))


def _notice(door: Door) -> str:
    tried = "{}.{} to {}.{}".format(*door.oldest, *door.newest)
    return f"torch {torch.__version__} is outside {tried}, so Strop does not {door.purpose}: {door.without}."


def inductor_decompositions() -> dict[Any, Callable[..., Any]]:
    """The table with which Inductor takes operators apart; it depends on the configuration in force."""
    return select_decomp_table()


def mode_options(mode: str) -> dict[str, Any]:
    """What a mode of ``torch.compile`` switches on, as Inductor options."""
    return dict(torch._inductor.list_mode_options(mode))


def patched_options(options: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Inductor's configuration with ``options`` while the block runs."""
    return cast("AbstractContextManager[None]", inductor_config.patch(dict(options)))


def option_names() -> frozenset[str]:
    """Every option that Inductor of this version knows."""
    return frozenset(inductor_config.get_config_copy())


def compile_inference(graph: GraphModule, inputs: Sequence[Any], static: Sequence[int]) -> Callable[..., Any]:
    """Let Inductor compile a functional inference graph; the result takes one list of arguments.

    Args:
        graph: already taken apart by :func:`inductor_decompositions`; it is consumed.
        inputs: fake tensors and symbolic integers, one per placeholder.
        static: positions of inputs that keep their address from call to call.
    """
    fake_mode = detect_fake_mode(inputs) or FakeTensorMode(allow_non_fake_inputs=True)
    if not is_open("compile_inference"):
        return _compile_by_public_way(graph, inputs, fake_mode)
    with ExitStack() as stack:
        if inductor_config.cpp_wrapper:
            stack.enter_context(inductor_config.patch(inductor.get_cpp_wrapper_config()))
            stack.enter_context(V.set_real_inputs(inputs))
        stack.enter_context(V.set_fake_mode(fake_mode))
        graph = inductor._recursive_joint_graph_passes(graph, input_device=_device_of(graph))
        _keep_output_layouts(graph)
        compiled = inductor.compile_fx_inner(
            graph,
            inputs,
            static_input_idxs=list(static),
            cudagraphs=BoxedBool(inductor_config.triton.cudagraphs),
            graph_id=next(inductor._graph_counter),
            is_inference=True,
            boxed_forward_device_index=BoxedDeviceIndex(None),
            cpp_wrapper=inductor_config.cpp_wrapper,
        )
    return cast("Callable[..., Any]", compiled)


def _compile_by_public_way(graph: GraphModule, inputs: Sequence[Any], fake_mode: FakeTensorMode) -> Callable[..., Any]:
    # A context of its own: compile_fx runs AOTAutograd again, which would overwrite what the outer one left for its
    # caller.
    with tracing(TracingContext(fake_mode)):
        compiled = cast("Callable[..., Any]", inductor.compile_fx(graph, list(inputs)))

    def run(*args: Any) -> Any:
        return compiled(*args)

    return run


def _device_of(graph: GraphModule) -> torch.device:
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.device.type != "cpu":
            return value.device
    return torch.device("cpu")


def _keep_output_layouts(graph: GraphModule) -> None:
    """Tell Inductor that the user sees every output, so that it may not choose other strides for them."""
    output = graph.graph.output_node()
    visible = [i for i, value in enumerate(cast("Sequence[Any]", output.args[0])) if isinstance(value, torch.fx.Node)]
    output.meta["user_visible_output_idxs"] = visible if inductor_config.keep_output_stride else []


@contextmanager
def edited_wrapper(edit: Callable[[str], str]) -> Iterator[None]:
    """While the block runs, each wrapper that this thread has Inductor write passes through ``edit`` before it becomes
    a module; CUDA graphs and the compiled graph's own record of its source come after that.

    Raises:
        NotSupported: this torch was not tried.
        BadCandidate: Inductor could not load what ``edit`` returned; the message holds the compiler's own.
    """
    if not is_open("edited_wrapper"):
        raise NotSupported(_notice(DOORS["edited_wrapper"]))
    with _PATCHING:
        yield from _edited_wrapper(edit)


def _edited_wrapper(edit: Callable[[str], str]) -> Iterator[None]:
    original, owner = GraphLowering.codegen, threading.get_ident()
    edited = False

    def codegen(self: GraphLowering) -> Any:
        nonlocal edited
        wrapper, kernels = original(self)
        if threading.get_ident() == owner:
            before = wrapper.value
            wrapper.value = edit(before)
            edited = edited or wrapper.value != before
        return wrapper, kernels

    GraphLowering.codegen = codegen
    try:
        # The key of a cached graph knows nothing of edits, neither of those that it was made with nor of these.
        with inductor_config.patch({"fx_graph_cache": False, "fx_graph_remote_cache": False}):
            yield
    except InductorError as failure:
        if isinstance(failure.inner_exception, StropError):
            raise failure.inner_exception from failure
        if edited:
            raise BadCandidate(f"A kernel as edited does not compile: {_last_words(failure)}.") from failure
        raise
    finally:
        GraphLowering.codegen = original


class _Written(BaseException):
    """Ends a compilation whose wrapper is all that was wanted."""

    def __init__(self, text: str) -> None:
        super().__init__("the wrapper is written")
        self.text = text


def wrapper_text(graph: GraphModule, inputs: Sequence[Any], static: Sequence[int], *, persistent: bool) -> str:
    """The wrapper that Inductor writes for a graph when reductions are persistent (the whole of a row at once, where it
    is known and not longer than :data:`LONGEST_ROW`), or when none is; nothing is compiled. See
    :func:`compile_inference` for the arguments.
    """

    def stop(text: str) -> str:
        raise _Written(text)

    with edited_wrapper(stop), V.set_choices_handler(_forced_choices(persistent)):
        try:
            compile_inference(graph, inputs, static)
        except _Written as done:
            return done.text
    return ""


LONGEST_ROW = 32768
"""A persistent reduction holds a row in the registers of one program instance; a longer one fits none."""


def _forced_choices(persistent: bool) -> Any:
    """Inductor's own choices, but for the form of reductions."""

    class Forced(type(V.choices)):
        @staticmethod
        def should_use_persistent_reduction(features: Any, cooperative_reduction: bool) -> bool:
            known = V.graph.sizevars.statically_known_leq(features.reduction_numel, LONGEST_ROW)
            return persistent and bool(known) and not cooperative_reduction

    return Forced()


@contextmanager
def launches_seen() -> Iterator[dict[str, tuple[Any, ...]]]:
    """While the block runs, each generated Triton kernel's first launch is noted: its positional arguments by its name.

    They are the tensors themselves, which are kept alive. Empty where this torch was not tried.
    """
    seen: dict[str, tuple[Any, ...]] = {}
    if not is_open("kernel_launches"):
        yield seen
        return
    # Importing it needs Triton, which a machine without an accelerator need not have.
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    original = CachingAutotuner.run

    def run(self: Any, *args: Any, **options: Any) -> Any:
        seen.setdefault(_kernel_name(self), args)
        return original(self, *args, **options)

    CachingAutotuner.run = run
    try:
        yield seen
    finally:
        CachingAutotuner.run = original


def _kernel_name(autotuner: Any) -> str:
    """The name by which the wrapper calls it."""
    return str(autotuner.inductor_meta.get("kernel_name") or autotuner.fn.__name__)


def compiling_kernel(name: str, source: str) -> Callable[[], Callable[..., Any]]:
    """Begin to compile the text of one generated Triton kernel; what is returned waits for it and gives its launch,
    which takes the arguments that the wrapper would give, and the stream.
    """
    started: Any = AsyncCompile().triton(name, source, device_str="cuda")
    return lambda: (started.result() if hasattr(started, "result") else started).run


def _last_words(failure: BaseException) -> str:
    """What a compiler says about the code, on one line: a C++ compiler's errors without its warnings, else the end of
    the traceback of the process that it ran in.
    """
    text = str(getattr(failure, "inner_exception", failure)).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if ": error: " in line]
    told = [number for number, line in enumerate(lines) if _SAYS.match(line)]
    chosen = errors[:LAST_LINES] or (lines[told[-1] :] if told else lines[-LAST_LINES:])
    text = " | ".join(chosen).rstrip(".")
    if len(text) <= LAST_CHARS:
        return text
    # Triton shows the whole function up to the place, and says last what is wrong there.
    return f"{text[:HEAD_CHARS]} ... {text[HEAD_CHARS - LAST_CHARS :]}"


def source_of(compiled: Callable[..., Any]) -> str:
    """The text of the wrapper module that Inductor generated; empty for a graph in which nothing is left to compute."""
    return getattr(compiled, "source_code", "")


@contextmanager
def kernel_origins() -> Any:
    """While the block runs, compilation notes each kernel's origins; yields a mapping that is complete when it ends.

    Keys are ``<kernel name>:<number>`` as in the wrapper's ``[Provenance debug handles]`` comments, values names of
    graph nodes.
    """
    found: dict[str, tuple[str, ...]] = {}
    if not is_open("kernel_origins"):
        yield found
        return
    # A cached result was compiled without noting origins, since Inductor leaves this option out of its cache key.
    options = {"trace.provenance_tracking_level": 1, "fx_graph_cache": False}
    with inductor_debug.reset_provenance_globals(), inductor_config.patch(options):
        try:
            yield found
        finally:
            noted = inductor_debug._inductor_triton_kernel_to_post_grad_node_info
            found.update({kernel: tuple(nodes) for kernel, nodes in noted.items()})


def same_addresses(tensors: list[Any], addresses: list[int | None], positions: list[int]) -> bool:
    """Whether the tensors at ``positions`` lie where ``addresses`` says."""
    # Only builds of torch for a GPU have it.
    compare = getattr(torch._C, "_tensors_data_ptrs_at_indices_equal", None)
    if compare is not None and is_open("compare_addresses"):
        return compare(tensors, addresses, positions)
    return all(tensors[position].data_ptr() == addresses[position] for position in positions)
