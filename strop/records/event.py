"""Everything that happens in a run, as one tagged union; the ledger holds nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from strop.records._base import Record
from strop.records.candidate import Candidate
from strop.records.contract import Contract
from strop.records.decision import Decision, Drop, Keep
from strop.records.graph import Capture
from strop.records.measurement import Comparison, Conditions, TimeDecision
from strop.records.opportunity import Decline, Opportunity, Proposal
from strop.records.profile import Profile
from strop.records.target import Target
from strop.records.verdict import Verdict
from strop.records.workload import Description, Workload

BASELINES = ("eager", "default", "reduce-overhead")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Record):
    """What the user asked for; kept whole, so that a run can be resumed and repeated."""

    contract: Contract
    baselines: tuple[str, ...] = BASELINES
    budget_s: float = 300.0
    max_memory_ratio: float = 2.0
    max_error_ratio: float = 2.0
    forbid: tuple[str, ...] = ()
    search: str = "greedy"
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Record):
    """A run begins, or begins again after an interruption (``resumed``)."""

    workload: Workload
    target: Target
    request: Request
    conditions: Conditions
    resumed: bool = False
    event: Literal["run_started"] = "run_started"

    @property
    def challengers(self) -> tuple[str, ...]:
        """Modes against which what would be kept is held too; whoever names baselines names all of them."""
        return self.target.slow_modes if self.request.baselines == BASELINES else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Described(Record):
    """The workload was loaded behind the wall."""

    description: Description
    event: Literal["described"] = "described"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted(Record):
    """Whether verdicts on this workload mean anything; ``because`` says why not, ``notes`` what was re-drawn."""

    admissible: bool
    because: str = ""
    notes: tuple[str, ...] = ()
    event: Literal["admitted"] = "admitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured(Record):
    """The graphs of the workload."""

    capture: Capture
    event: Literal["captured"] = "captured"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselinesMeasured(Record):
    """Time of one call per mode; a mode that failed has a reason instead. ``best`` is what candidates must beat;
    ``same`` pairs a mode that was asked for with the measured one that gives the same code on this device; both have
    that one's time.
    """

    call_ns: tuple[tuple[str, float], ...]
    failed: tuple[tuple[str, str], ...]
    best: str
    same: tuple[tuple[str, str], ...] = ()
    event: Literal["baselines_measured"] = "baselines_measured"

    def joined_by(self, challenge: Challenged) -> BaselinesMeasured:
        """The same with one more mode, or with the reason why it has no time."""
        mode, found = challenge.mode, challenge.comparison
        others = tuple(pair for pair in self.call_ns if pair[0] != mode)
        if found is None:
            known = len(others) < len(self.call_ns)
            return self if known else replace(self, failed=(*self.failed, (mode, challenge.because)))
        best = mode if challenge.outdoes else self.best
        return replace(self, call_ns=(*others, (mode, found.baseline_ns)), best=best)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled(Record):
    """Where the compiler's version spends its time, and where a proposal could win."""

    profile: Profile
    opportunities: tuple[Opportunity, ...]
    event: Literal["profiled"] = "profiled"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueAsked(Record):
    """What the transforms propose for this workload, and why the others do not."""

    proposals: tuple[Proposal, ...]
    declines: tuple[Decline, ...]
    event: Literal["catalogue_asked"] = "catalogue_asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed(Record):
    """A candidate is about to be judged."""

    candidate: Candidate
    event: Literal["proposed"] = "proposed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Record):
    """The referee's verdict on one candidate."""

    verdict: Verdict
    event: Literal["judged"] = "judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(Record):
    """What becomes of a candidate; ``final`` marks the confirmation in fresh processes.

    ``device_seconds_s`` is how long this sitting has held the device so far: a killed run still knows what it cost.
    """

    decision: Decision
    final: bool = False
    device_seconds_s: float = 0.0
    event: Literal["decided"] = "decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenged(Record):
    """A confirmed candidate was held against a mode that takes long to build. ``comparison`` is None where there is no
    time to compare with, and ``because`` says why; the mode is then not built again in this run. ``outdoes`` says that
    the mode is faster than all baselines: what is claimed from now on is claimed over it.
    """

    mode: str
    candidate_id: str
    comparison: Comparison | None = None
    outdoes: bool = False
    because: str = ""
    event: Literal["challenged"] = "challenged"

    def settle(self, decision: Decision) -> Decision:
        """What becomes of the candidate that was confirmed before."""
        found = self.comparison
        if not isinstance(decision, Keep) or found is None or not self.outdoes:
            return decision
        if found.decision is TimeDecision.FASTER:
            return replace(decision, comparison=found)
        because = f"{self.mode} is {found.decision}: {found.speedup:.3f}x [{found.low:.3f}, {found.high:.3f}]"
        return Drop(candidate=decision.candidate, reason="not_faster", because=because, comparison=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Best(Record):
    """The best of each class so far: overall, without ``work_removed``, without origin ``compiler``."""

    kept: Keep | None
    without_work_removed: Keep | None
    without_compiler: Keep | None
    event: Literal["best"] = "best"


class StopReason(StrEnum):
    """Why a run stopped, as a word for programs; ``because`` beside it is the sentence for people."""

    NOTHING_LEFT = "nothing_left"
    BUDGET = "budget"
    NEAR_CEILING = "near_ceiling"
    INTERRUPTED = "interrupted"
    INCONCLUSIVE = "inconclusive"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Record):
    """Why the run stopped and what it cost, all sittings of a resumed run together."""

    because: str
    device_seconds_s: float
    wall_seconds_s: float
    tokens: int = 0
    interrupted: bool = False
    reason: StopReason = StopReason.NOTHING_LEFT
    event: Literal["run_ended"] = "run_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Record):
    """Something worth telling a person that changes nothing."""

    text: str
    event: Literal["noted"] = "noted"


KERNELBENCH_RULE = "kernelbench"
"""The name of the rule that KernelBench's own evaluation applies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleAsked(Record):
    """What somebody else's rule of correctness says about a candidate that was kept. It decides nothing; campaigns show
    it beside the referee's verdict. It may follow the end of the run, whose cost ``device_seconds_s`` is added to.
    """

    candidate_id: str
    rule: str
    passed: bool
    because: str = ""
    device_seconds_s: float = 0.0
    event: Literal["rule_asked"] = "rule_asked"


Happening = (
    RunStarted
    | Described
    | Admitted
    | Captured
    | BaselinesMeasured
    | Profiled
    | CatalogueAsked
    | Proposed
    | Judged
    | Decided
    | Challenged
    | Best
    | RunEnded
    | Noted
    | RuleAsked
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Record):
    """One line of the ledger. ``sequence`` counts from 1 within the run; ``at`` is UTC in ISO 8601."""

    run: str
    sequence: int
    at: str
    what: Happening
