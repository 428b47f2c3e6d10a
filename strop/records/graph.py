"""The captured ATen graph as metadata, and what the compiler made of it. The graph itself stays behind the wall."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from strop.records._base import Record
from strop.records.tensor import TensorSpec


class Role(StrEnum):
    """What a placeholder of the graph stands for."""

    INPUT = "input"
    PARAMETER = "parameter"
    BUFFER = "buffer"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode(Record):
    """One node: ``op`` is placeholder, call_function, get_attr or output; ``target`` such as ``aten.addmm.default``.

    ``inputs`` are names of nodes; ``arguments`` the other arguments as text; ``outputs`` the specs of its results;
    ``module_path`` the submodule it came from.
    """

    name: str
    op: str
    target: str
    inputs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    role: Role | None = None
    path: str = ""
    module_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedGraph(Record):
    """One graph in execution order. ``id`` hashes nodes, shapes and decomposition table, nothing of this process."""

    id: str
    nodes: tuple[GraphNode, ...]
    decompositions_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBreak(Record):
    """Where Dynamo had to leave the graph, and why."""

    reason: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture(Record):
    """Everything that one call of the workload goes through, in order."""

    graphs: tuple[CapturedGraph, ...]
    breaks: tuple[GraphBreak, ...] = ()


class KernelKind(StrEnum):
    """Who wrote the kernel: the compiler, or a vendor library that it calls."""

    GENERATED = "generated"
    EXTERN = "extern"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel(Record):
    """One kernel of the compiled workload.

    ``name`` is the compiler's own; ``source`` the whole generated text, empty for an extern call; ``nodes`` the names
    or operators of the ATen nodes it came from; ``launch`` the launch parameters or the loop structure as text, for an
    extern call its arguments. ``hash`` is how a step of a recipe names a generated kernel: it stands for torch and
    Triton version, captured graph and source together (empty for an extern call).
    """

    name: str
    kind: KernelKind
    language: str
    nodes: tuple[str, ...] = ()
    source: str = ""
    launch: str = ""
    graph_id: str = ""
    hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEdit(Record):
    """One step's change of a generated kernel: the kernel by its name and by the ``hash`` under which the step found
    it, and a unified diff of its whole text before and after, empty where no line changed. The child that built the
    candidate tells it, and nothing is decided by it.
    """

    kernel: str
    hash: str
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerOutput(Record):
    """What Inductor generated: the kernels in call order and the wrapper's text."""

    kernels: tuple[CompiledKernel, ...]
    wrapper: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Region(Record):
    """A set of nodes of one captured graph that a proposal replaces."""

    graph_id: str
    nodes: tuple[str, ...]
