"""What a user brings: a module, its mode, how its parameters and inputs are made, and on which device it runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from strop.records._base import Record
from strop.records.ids import content_id
from strop.records.tensor import TensorSpec


class Mode(StrEnum):
    """``train`` keeps batch statistics and dropout alive (the KernelBench convention); ``eval`` freezes them."""

    TRAIN = "train"
    EVAL = "eval"


class SourceKind(StrEnum):
    """Roads by which a workload comes in."""

    FILE = "file"
    FACTORY = "factory"
    PROGRAM = "program"
    LIVE = "live"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSource(Record):
    """Where the code is.

    ``where`` is a path (file, program, live) or ``package.module:factory``; ``entry`` the class inside a file;
    ``digest`` the SHA-256 of the file's bytes (of the text ``where`` for a factory); ``import_path`` the folders that
    a child,
    whose environment is empty, needs to find the user's modules.
    """

    kind: SourceKind
    where: str
    digest: str
    entry: str = "Model"
    import_path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload(Record):
    """One thing to make faster. ``grad`` False means that it runs under ``torch.no_grad``."""

    name: str
    source: WorkloadSource
    mode: Mode = Mode.TRAIN
    grad: bool = False
    device: str = "cpu"

    @property
    def id(self) -> str:
        """Same code, mode and device: same id, wherever the file lies."""
        source = self.source
        place = "" if source.kind is not SourceKind.FACTORY else source.where
        return content_id("w", source.kind, source.digest, place, source.entry, self.mode, self.grad, self.device)


class DomainKind(StrEnum):
    """What the values of an input mean; the referee never leaves the domain when it draws its own."""

    REAL = "real"
    FINITE = "finite"
    POSITIVE = "positive"
    PROBABILITY = "probability"
    DISTRIBUTION = "distribution"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain(Record):
    """Declared by the workload or learned from its own generator.

    ``low`` and ``high`` bound integers (inclusive). ``fixed`` means that only the workload's own generator can make
    the value.
    """

    kind: DomainKind
    low: float | None = None
    high: float | None = None
    declared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf(Record):
    """One named tensor of a workload: an input, a parameter, a buffer or an output. ``path`` is how a person would
    write it.
    """

    path: str
    tensor: TensorSpec
    domain: Domain | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant(Record):
    """Inputs of another shape or layout than the workload's own, for which it claims to hold.

    ``sample`` numbers the sets of other shapes that it brings, from 1; with 0 its own inputs are cut, continued and
    laid out to be like ``inputs``.
    """

    sample: int = 0
    inputs: tuple[Leaf, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Description(Record):
    """What a child learned by loading a workload and calling it once; values never appear here.

    ``mutates`` lists input paths that the reference writes to, ``updates`` the buffers (running statistics);
    ``aliases`` output paths that share memory with an input; ``random_ops`` operators that draw random numbers;
    ``constants`` the numbers that occur in the graph (so that a clamp can be made to clamp); ``structure`` the
    output's pytree as text; ``mode`` the mode in which it ran, which a workload's own declaration may have decided;
    ``code`` the modules that were imported from the user's own folders, with the SHA-256 of their files (empty in
    ledgers that are older than it); ``chooses`` whether an operator may name one of several equal elements.
    What it claims beyond these inputs: ``other_samples`` counts the sets of other shapes that it brings, ``claims`` are
    inputs with a Symbol for each dimension that may vary, ``any_layout`` says that they may lie in any order of memory.
    """

    parameters: tuple[Leaf, ...]
    buffers: tuple[Leaf, ...]
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    mutates: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    random_ops: tuple[str, ...] = ()
    constants: tuple[float, ...] = ()
    samples: int = 1
    structure: str = ""
    has_acceptance: bool = False
    mode: Mode = Mode.TRAIN
    notes: tuple[str, ...] = ()
    code: tuple[tuple[str, str], ...] = ()
    chooses: bool = True
    other_samples: int = 0
    claims: tuple[Leaf, ...] = ()
    any_layout: bool = False
