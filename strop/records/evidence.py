"""What a probe brings back from behind the wall: facts and error figures, never an opinion and never a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from strop.records._base import Record
from strop.records.graph import KernelEdit
from strop.records.measurement import Comparison
from strop.records.workload import Leaf, Variant


class Stage(StrEnum):
    """Steps of the cascade, cheapest first."""

    POLICY = "policy"
    BUILD = "build"
    INTERFACE = "interface"
    VALUES = "values"
    PARAMETERS = "parameters"
    STATE = "state"
    SHAPES = "shapes"
    TIME = "time"
    PLAUSIBILITY = "plausibility"


class Distribution(StrEnum):
    """The mixture from which the referee draws real inputs; other inputs keep their domain."""

    OWN = "own"
    NORMAL = "normal"
    UNIFORM = "uniform"
    SCALED = "scaled"
    NEGATED = "negated"
    OUTLIER_CHANNELS = "outlier_channels"
    LOG_NORMAL = "log_normal"
    HALF_ZEROS = "half_zeros"
    CONSTANT_ROWS = "constant_rows"
    ROW_OFFSETS = "row_offsets"
    TIES = "ties"
    BEYOND_CONSTANTS = "beyond_constants"
    SMALL_INTEGERS = "small_integers"
    SPECIAL = "special"


class Circumstance(StrEnum):
    """Around which events a run takes place; every run is judged against fp64, never against another run."""

    PLAIN = "plain"
    RELOCATED = "relocated"
    SAME_ADDRESS = "same_address"
    SECOND_INSTANCE = "second_instance"
    SECOND_THREAD = "second_thread"
    AFTER_COLLECTION = "after_collection"
    REPEATED = "repeated"


FEW_CHANGED = 3
"""The draw of parameters that a look at some places does not tell from the one before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Record):
    """One run: which draw of parameters, which distribution, which circumstance, which variant of the inputs (None: the
    workload's own). The seed stays with the judge.
    """

    index: int
    distribution: Distribution
    parameters_draw: int = 0
    circumstance: Circumstance = Circumstance.PLAIN
    variant: Variant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorQuantiles(Record):
    """Quantiles of the absolute error against fp64 over the elements where both are finite."""

    p50: float
    p99: float
    p999: float
    max: float

    def as_tuple(self) -> tuple[float, float, float, float]:
        """All four, in the order of their names."""
        return (self.p50, self.p99, self.p999, self.max)


class Draws(StrEnum):
    """What is compared of answers that are drawn at random."""

    MEANS = "means"
    VARIANCES = "variances"
    TIES = "ties"
    SHARES = "shares"
    SIZE = "size"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawsFigure(Record):
    """One figure of how the candidate's random answers differ from the reference's.

    ``chance`` is how often chance makes as large a difference, ``least`` how often it has to; ``excess`` is by how much
    the squared distance is larger than usual, ``baseline_excess`` the same of the baseline's answers (0 where chance
    explains these). For SIZE, which is about answers on the clock, ``excess`` counts those that are odd ones among the
    reference's.
    """

    about: Draws
    chance: float
    least: float
    excess: float
    baseline_excess: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafErrors(Record):
    """Errors of one output (or state tensor) in one case.

    ``floor`` is the smallest error that counts, from the storage type and the smallest normal number;
    ``mask_mismatches`` counts elements whose
    NaN, +Inf, -Inf or finite class differs from the reference; ``exact_mismatches`` counts unequal elements of
    integer and boolean
    outputs, for the honest-rounding model the most in one sample. ``worst`` says where the largest error is and what
    stood there. ``chosen`` says that integers may name one of several equal elements, ``strays`` counts those that name
    none. ``honest`` is None where the model was not asked: the baseline's own error covered the candidate's. ``draws``
    is there for what is drawn at random: errors are then distances from all that the reference drew.
    """

    path: str
    elements: int
    floor: float
    candidate: ErrorQuantiles
    baseline: ErrorQuantiles
    honest: ErrorQuantiles | None
    mask_mismatches: int = 0
    baseline_mask_mismatches: int = 0
    exact_mismatches: int = 0
    baseline_exact_mismatches: int = 0
    honest_exact_mismatches: int = 0
    worst: str = ""
    chosen: bool = True
    strays: int = 0
    draws: tuple[DrawsFigure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEvidence(Record):
    """The text of a candidate, for notes only."""

    text: str
    language: str
    evidence: Literal["policy"] = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildEvidence(Record):
    """The candidate loaded: how long it took by the judge's clock (building, compiling, two calls to warm up), and what
    its builder reported (registers, spills, shared memory; which generated kernels it changed, and how).
    """

    seconds_s: float
    resources: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    edits: tuple[KernelEdit, ...] = ()
    evidence: Literal["build"] = "build"


class CrashKind(StrEnum):
    """How a child ended without an answer. DEVICE is a fault of a kernel, after which the device refuses the process.
    Only INFRASTRUCTURE is nobody's fault but ours and is retried.
    """

    RAISED = "raised"
    EXITED = "exited"
    SIGNAL = "signal"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    DEVICE = "device"
    OUTPUT = "output"
    DISK = "disk"
    PROCESSES = "processes"
    PROTOCOL = "protocol"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashEvidence(Record):
    """A child ended, or its candidate raised. ``detail`` is one sentence, ``log_tail`` the end of what it printed."""

    stage: Stage
    kind: CrashKind
    detail: str
    log_tail: str = ""
    evidence: Literal["crash"] = "crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceEvidence(Record):
    """What a run returned and touched, beside what the reference does.

    ``unwritten`` counts poisoned bytes that survived per output path; ``guards_broken`` names arenas whose guard
    bytes changed;
    ``wrong_inputs`` lists inputs that differ from what the reference leaves behind, ``changed_parameters`` parameters
    that moved;
    ``aliases`` outputs that share memory with an input or with an earlier output although the reference's do not.
    """

    expected: tuple[Leaf, ...]
    got: tuple[Leaf, ...]
    unwritten: tuple[tuple[str, int], ...] = ()
    guards_broken: tuple[str, ...] = ()
    wrong_inputs: tuple[str, ...] = ()
    changed_parameters: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    missing_parameters: tuple[str, ...] = ()
    evidence: Literal["interface"] = "interface"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesEvidence(Record):
    """Errors of all outputs and of all updated state in one case. ``accepted`` is the user's own acceptance
    function's answer.
    """

    stage: Stage
    case: Case
    leaves: tuple[LeafErrors, ...]
    accepted: bool | None = None
    evidence: Literal["values"] = "values"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingEvidence(Record):
    """A comparison beside the time that no implementation can beat on this machine."""

    comparison: Comparison
    minimal_bytes: int
    product_flop: int
    floor_ns: float
    evidence: Literal["timing"] = "timing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainEvidence(Record):
    """A comparison beside its chained rounds, and the errors of the calls that were judged in these; without either
    where calls could not be chained.
    """

    comparison: Comparison
    links: tuple[ValuesEvidence, ...] = ()
    evidence: Literal["chain"] = "chain"


Evidence = (
    PolicyEvidence | BuildEvidence | CrashEvidence | InterfaceEvidence | ValuesEvidence | ChainEvidence | TimingEvidence
)
