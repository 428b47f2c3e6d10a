"""What becomes of a candidate. There is no Keep without a passed verdict and a comparison that says faster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strop.records._base import Record
from strop.records.candidate import Candidate
from strop.records.measurement import Comparison, TimeDecision
from strop.records.verdict import Verdict


class IllegalDecision(ValueError):
    """Somebody tried to keep what was not shown to be right and faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement(Record):
    """What the referee found about one candidate; ``comparison`` is None when it was not timed because it did not
    pass.
    """

    verdict: Verdict
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep(Record):
    """The candidate is right and makes the whole workload faster."""

    candidate: Candidate
    verdict: Verdict
    comparison: Comparison
    decision: Literal["keep"] = "keep"

    def __post_init__(self) -> None:
        if self.verdict.outcome != "passed":
            raise IllegalDecision(f"{self.candidate.id} cannot be kept: its verdict is {self.verdict.outcome}.")
        if self.verdict.candidate_id != self.candidate.id:
            raise IllegalDecision(f"{self.candidate.id} cannot be kept on the verdict of {self.verdict.candidate_id}.")
        if self.comparison.decision is not TimeDecision.FASTER:
            raise IllegalDecision(f"{self.candidate.id} cannot be kept: its timing says {self.comparison.decision}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(Record):
    """The candidate did not build, or is wrong in a way its author may mend; ``because`` is the message to them."""

    candidate: Candidate
    because: str
    decision: Literal["repair"] = "repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Record):
    """The compiler's version stays; ``reason`` is the failed check's name, ``inconclusive`` or ``not_faster``."""

    candidate: Candidate
    reason: str
    because: str
    comparison: Comparison | None = None
    decision: Literal["drop"] = "drop"


Decision = Keep | Repair | Drop
