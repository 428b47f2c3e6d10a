"""Does the workload's own acceptance function accept the outputs?"""

from __future__ import annotations

from strop.checks._base import Check, Example, Rules
from strop.checks._bound import nothing_of_that
from strop.checks._examples import WITHIN, values
from strop.records.evidence import Distribution, Stage, ValuesEvidence
from strop.records.verdict import Failed, Finding, Passed


class UserAccepts(Check):
    """Asked beside all other checks, never in their place, and only about the inputs it was written for."""

    name = "user_accepts"
    summary = "The acceptance function that came with the workload says yes."
    stages = (Stage.VALUES,)
    judges = ValuesEvidence
    examples = (
        Example(
            says="The user's function said yes.",
            evidence=values(Stage.VALUES, WITHIN, distribution=Distribution.OWN, accepted=True),
            outcome="passed",
        ),
        Example(
            says="The user's function said no.",
            evidence=values(Stage.VALUES, WITHIN, distribution=Distribution.OWN, accepted=False),
            outcome="failed",
        ),
        Example(
            says="It said no to inputs that the workload never makes.",
            evidence=values(Stage.VALUES, WITHIN, distribution=Distribution.OUTLIER_CHANNELS, accepted=False),
            outcome="skipped",
        ),
        Example(says="There is no such function.", evidence=values(Stage.VALUES, WITHIN), outcome="skipped"),
    )

    def judge(self, evidence: ValuesEvidence, rules: Rules) -> Finding:
        """A plain no on the workload's own inputs fails."""
        if evidence.accepted is None:
            return nothing_of_that(self.name, "the workload has no acceptance function")
        if evidence.accepted:
            return Passed(check=self.name)
        if evidence.case.distribution is not Distribution.OWN:
            return nothing_of_that(self.name, "the acceptance function counts on the workload's own inputs only")
        because = "The workload's acceptance function rejects the outputs. See its text for what it asks."
        return Failed(check=self.name, because=because)


ITEM = UserAccepts()
