"""What parent and child say to each other. Values of tensors are never in a message; they lie in the arenas.

Every child has two arenas. ``given`` holds parameters and buffers (fixed) and the inputs (slots); ``made`` holds, per
slot, the outputs and then the state that the workload is known to touch (mutated inputs, updated buffers), all
poisoned before each run.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from strop.records._base import Record
from strop.records.candidate import Form
from strop.records.contract import Contract
from strop.records.evidence import Circumstance, Distribution, Stage
from strop.records.graph import Capture, KernelEdit, KernelKind
from strop.records.opportunity import Decline, Proposal
from strop.records.profile import DeviceKernel, KernelProfile
from strop.records.target import Target
from strop.records.workload import Description, Leaf, Variant, Workload
from strop.wire.launches import AskLaunches, LaunchesReply
from strop.wire.layout import Layout
from strop.wire.omission import Omit, Omitted
from strop.wire.regions import AskRegions, RegionsReply


class ChildRole(StrEnum):
    """Who a child works for. All run the same program.

    A candidate brings code of its own and is confined; a recipe names steps of Strop's own and brings none, so its
    children may use the compile cache of the trusted ones. A step that carries source text makes a candidate.
    """

    REFERENCE = "reference"
    BASELINE = "baseline"
    CANDIDATE = "candidate"
    RECIPE = "recipe"

    @property
    def is_judged(self) -> bool:
        """True where what runs is a candidate, whose faults are its own."""
        return self in (ChildRole.CANDIDATE, ChildRole.RECIPE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Open(Record):
    """Load the workload's code, build it under ``construct_seed``, set the contract's math modes. Any role."""

    workload: Workload
    contract: Contract
    threads: int
    construct_seed: int
    ask: Literal["open"] = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe(Record):
    """Call the workload once and say what it is made of. Reference only."""

    ask: Literal["describe"] = "describe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vary(Record):
    """Deal with this variant of the inputs, or with the workload's own again; arenas must be mapped anew."""

    variant: Variant | None
    ask: Literal["vary"] = "vary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Record):
    """Build what is to be run: a candidate, a baseline mode or the null worker."""

    form: Form
    target: Target
    ask: Literal["load"] = "load"


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Record):
    """Map both arenas; their files have their final size and cannot be resized. Where tensors lie on a device, the
    handle (hexadecimal) names the memory there that is mapped instead.
    """

    given: Layout
    made: Layout
    given_handle: str = ""
    made_handle: str = ""
    ask: Literal["map"] = "map"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawParameters(Record):
    """Write parameters and buffers into ``given``. ``draw`` 0 is the module's own initialisation, others re-draw;
    ``FEW_CHANGED`` is the one before it with few elements exchanged, for the same ``seed``. Reference only.
    """

    seed: int
    draw: int
    ask: Literal["draw_parameters"] = "draw_parameters"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawInputs(Record):
    """Write inputs into one slot of ``given``. Reference only."""

    slot: int
    seed: int
    distribution: Distribution
    ask: Literal["draw_inputs"] = "draw_inputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver(Record):
    """Copy parameters and buffers from ``given`` into the loaded module, set-up work that depends on them included."""

    ask: Literal["deliver"] = "deliver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect(Record):
    """Run the workload in fp64 on one slot's inputs and write the results (fp64) into ``made``. What it draws at random
    follows from ``seed``, and without one is what Perturb draws. Reference only.
    """

    slot: int
    seed: int | None = None
    ask: Literal["expect"] = "expect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturb(Record):
    """Like Expect, but every operation's result is moved by one honest rounding of the precision of ``contract``, or of
    the one that the workload was opened under. Reference only.
    """

    slot: int
    seed: int
    contract: Contract | None = None
    ask: Literal["perturb"] = "perturb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Record):
    """Run what is loaded on one slot's inputs under a circumstance, copy results and touched state into ``made``."""

    slot: int
    circumstance: Circumstance = Circumstance.PLAIN
    ask: Literal["run"] = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept(Record):
    """Ask the user's acceptance function about the outputs that lie in one slot of ``made``. Reference only."""

    slot: int
    ask: Literal["accept"] = "accept"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCapture(Record):
    """Capture the workload by the one road."""

    ask: Literal["capture"] = "capture"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskProfile(Record):
    """Profile ``calls`` calls of what is loaded on the inputs of slot 0; the answer holds what the compiler made."""

    calls: int
    target: Target
    ask: Literal["profile"] = "profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskProposals(Record):
    """Ask every transform where it applies to the captured graphs, or to the ``kernels`` that the profile shows."""

    target: Target
    kernels: tuple[KernelProfile, ...] = ()
    ask: Literal["proposals"] = "proposals"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskMemory(Record):
    """Peak memory of one call of what is loaded, above what stood before."""

    ask: Literal["memory"] = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCounters(Record):
    """Make one call of what is loaded where a tool that watches the process reads the device's counters."""

    ask: Literal["counters"] = "counters"


RequestMessage = (
    Open
    | Describe
    | Vary
    | Load
    | Map
    | DrawParameters
    | DrawInputs
    | Deliver
    | Expect
    | Perturb
    | Omit
    | Run
    | Accept
    | AskCapture
    | AskProfile
    | AskProposals
    | AskLaunches
    | AskRegions
    | AskMemory
    | AskCounters
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(Record):
    """It was done."""

    notes: tuple[str, ...] = ()
    reply: Literal["done"] = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedReply(Record):
    """Answer to Describe."""

    description: Description
    reply: Literal["described"] = "described"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Record):
    """Answer to Load."""

    resources: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    edits: tuple[KernelEdit, ...] = ()
    reply: Literal["loaded"] = "loaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered(Record):
    """Answer to Deliver: parameters were matched by ``name``, by unique ``shape``, or only by the construction
    ``seed``.
    """

    matched_by: Literal["name", "shape", "seed"]
    missing: tuple[str, ...] = ()
    setup_s: float = 0.0
    reply: Literal["delivered"] = "delivered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran(Record):
    """Answer to Run: what came back (the bytes are in ``made``), and what was seen of aliasing and parameters."""

    outputs: tuple[Leaf, ...]
    aliases: tuple[str, ...] = ()
    changed_parameters: tuple[str, ...] = ()
    reply: Literal["ran"] = "ran"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted(Record):
    """Answer to Accept."""

    accepted: bool
    reply: Literal["accepted"] = "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReply(Record):
    """Answer to AskCapture."""

    capture: Capture
    reply: Literal["capture"] = "capture"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSample(Record):
    """One kernel: its raw cost per call of the workload, as the profiler saw it, and what the compiler made; the fields
    are those of ``KernelProfile``.
    """

    name: str
    language: str
    nodes: tuple[str, ...]
    calls: int
    time_ns: float
    moved_bytes: int
    work_flop: int
    dtype: str = "float32"
    graph_id: str = ""
    kind: KernelKind | None = None
    launch: str = ""
    source: str = ""
    hash: str = ""
    launched: tuple[DeviceKernel, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReply(Record):
    """Answer to AskProfile."""

    call_ns: float
    kernels: tuple[KernelSample, ...]
    notes: tuple[str, ...] = ()
    reply: Literal["profile"] = "profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalsReply(Record):
    """Answer to AskProposals; ``minimal_bytes`` and ``product_flop`` are what no implementation can avoid."""

    proposals: tuple[Proposal, ...]
    declines: tuple[Decline, ...]
    minimal_bytes: int = 0
    product_flop: int = 0
    reply: Literal["proposals"] = "proposals"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReply(Record):
    """Answer to AskMemory: what one call needs above what stood before, and what the process holds beside arenas."""

    peak_bytes: int
    held_bytes: int
    reply: Literal["memory"] = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised(Record):
    """The code behind the wall raised. ``who`` says whose code it was, ``detail`` is one sentence, ``trace`` the end
    of the traceback; ``kind`` says that memory ran out, or that the device refuses this process from now on.
    """

    stage: Stage
    who: Literal["workload", "candidate", "strop"]
    error: str
    detail: str
    trace: str = ""
    kind: Literal["raised", "memory", "device"] = "raised"
    reply: Literal["raised"] = "raised"


ReplyMessage = (
    Done
    | DescribedReply
    | Loaded
    | Delivered
    | Omitted
    | Ran
    | Accepted
    | CaptureReply
    | ProfileReply
    | ProposalsReply
    | LaunchesReply
    | RegionsReply
    | MemoryReply
    | Raised
)
