"""What the referee says: every check gives a finding, all findings together give the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strop.records._base import Record
from strop.records.graph import KernelEdit


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed(Record):
    """The check looked and found nothing wrong."""

    check: str
    because: str = ""
    outcome: Literal["passed"] = "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(Record):
    """The check found a breach; ``because`` is a sentence that a person or an agent can act on."""

    check: str
    because: str
    outcome: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inconclusive(Record):
    """The check could not look. This is not Passed."""

    check: str
    because: str
    outcome: Literal["inconclusive"] = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped(Record):
    """The check was not reached or does not concern this candidate."""

    check: str
    because: str
    outcome: Literal["skipped"] = "skipped"


Finding = Passed | Failed | Inconclusive | Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope(Record):
    """How far the verdict reaches: ``shapes`` is ``exact``, or ``declared`` where it was shown for some of what the
    workload claims beyond its own inputs, which ``variants`` lists. ``by_distribution``: random numbers are drawn, and
    what several calls answered was compared, not single answers.
    """

    shapes: Literal["exact", "declared"] = "exact"
    finite_inputs: bool = False
    by_distribution: bool = False
    variants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Record):
    """All findings in the order of the cascade.

    ``error_ratio`` is the worst quantile of the candidate's error over the baseline's, both against fp64 (None when
    values were never compared);
    ``isolation`` the grade of the wall (A, B, C). ``compile_s`` is how long the candidate took to build, compile and
    warm up, by the judge's clock and with what the compiler's caches held (None when it did not load); no decision
    rests on it. ``edits`` are the changes of generated kernels, in the order of the recipe's steps.
    """

    candidate_id: str
    findings: tuple[Finding, ...]
    isolation: str
    scope: Scope = Scope()
    error_ratio: float | None = None
    notes: tuple[str, ...] = ()
    compile_s: float | None = None
    edits: tuple[KernelEdit, ...] = ()

    @property
    def objection(self) -> Failed | Inconclusive | None:
        """The first failure, else the first inconclusive finding, else None."""
        for kind in (Failed, Inconclusive):
            for finding in self.findings:
                if isinstance(finding, kind):
                    return finding
        return None

    @property
    def outcome(self) -> Literal["passed", "failed", "inconclusive"]:
        """Passed needs at least one check that looked and no objection."""
        objection = self.objection
        if objection is not None:
            return objection.outcome
        return "passed" if any(isinstance(f, Passed) for f in self.findings) else "inconclusive"
