"""Is every output the caller's own?"""

from __future__ import annotations

from dataclasses import replace

from strop.checks._base import Check, Example, Rules
from strop.checks._examples import GOOD_INTERFACE
from strop.records.evidence import InterfaceEvidence, Stage
from strop.records.verdict import Failed, Finding, Passed


class AliasesNothing(Check):
    """A result that shares memory with an input or an earlier result changes under its owner's hands."""

    name = "aliases_nothing"
    summary = "No output shares memory with an input or an earlier output, unless the workload's does."
    stages = (Stage.INTERFACE,)
    judges = InterfaceEvidence
    examples = (
        Example(says="A fresh output.", evidence=GOOD_INTERFACE, outcome="passed"),
        Example(
            says="The input itself, or the same buffer on every call.",
            evidence=replace(GOOD_INTERFACE, aliases=("output",)),
            outcome="failed",
        ),
    )

    def judge(self, evidence: InterfaceEvidence, rules: Rules) -> Finding:
        """Any alias that the workload lacks fails."""
        if evidence.aliases:
            names = ", ".join(evidence.aliases)
            because = f"{names}: shares memory with an input or with an earlier result. Return a tensor of its own."
            return Failed(check=self.name, because=because)
        return Passed(check=self.name)


ITEM = AliasesNothing()
