"""Does the candidate leave alone what it was only lent?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from strop.checks._base import Check, Example, Rules
from strop.checks._examples import GOOD_INTERFACE
from strop.records.evidence import InterfaceEvidence, Stage
from strop.records.verdict import Failed, Finding, Passed


class LeavesInputsAlone(Check):
    """What the workload itself changes (a cache, running statistics) is judged by value elsewhere."""

    name = "leaves_inputs_alone"
    summary = (
        "Inputs, parameters and the memory around every buffer are as they were, unless the workload changes them."
    )
    stages = (Stage.INTERFACE,)
    judges = InterfaceEvidence
    examples = (
        Example(says="Nothing was touched.", evidence=GOOD_INTERFACE, outcome="passed"),
        Example(
            says="An operation in place on an argument.",
            evidence=replace(GOOD_INTERFACE, wrong_inputs=("x",)),
            outcome="failed",
        ),
        Example(
            says="A weight was rescaled for good.",
            evidence=replace(GOOD_INTERFACE, changed_parameters=("linear.weight",)),
            outcome="failed",
        ),
        Example(
            says="A store past the end of a buffer.",
            evidence=replace(GOOD_INTERFACE, guards_broken=("outputs",)),
            outcome="failed",
        ),
    )

    def judge(self, evidence: InterfaceEvidence, rules: Rules) -> Finding:
        """The first thing touched is the reason."""
        problem = next(_problems(evidence), "")
        if problem:
            return Failed(check=self.name, because=problem)
        return Passed(check=self.name)


def _problems(evidence: InterfaceEvidence) -> Iterator[str]:
    if evidence.guards_broken:
        names = ", ".join(evidence.guards_broken)
        yield f"It wrote outside a buffer: guard bytes around {names} changed. Check bounds and masks of every store."
    if evidence.wrong_inputs:
        names = ", ".join(evidence.wrong_inputs)
        yield f"It changed its inputs ({names}); the workload does not. Work on a copy, or out of place."
    if evidence.changed_parameters:
        names = ", ".join(evidence.changed_parameters)
        yield f"It changed parameters ({names}); the workload does not. Keep what is derived from them apart from them."


ITEM = LeavesInputsAlone()
