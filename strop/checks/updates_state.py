"""Does the candidate change what the workload changes, and to the same values?"""

from __future__ import annotations

from dataclasses import replace

from strop.checks._base import Check, Example, Rules
from strop.checks._bound import is_state, judge_leaves, nothing_of_that
from strop.checks._examples import BEYOND, UNEQUAL, WITHIN, leaf, values
from strop.records.evidence import Stage, ValuesEvidence
from strop.records.verdict import Finding

_MEAN = "state:buffers:norm.running_mean"
_COUNT = "state:buffers:norm.num_batches_tracked"
_ADVICE = "Update buffers and mutated arguments exactly as the workload does in this mode."


class UpdatesState(Check):
    """Running statistics, counters and arguments changed in place are results like any other."""

    name = "updates_state"
    summary = "Buffers and arguments that the workload changes end with the same values."
    stages = (Stage.VALUES, Stage.PARAMETERS, Stage.STATE, Stage.SHAPES)
    judges = ValuesEvidence
    examples = (
        Example(
            says="Running statistics follow.",
            evidence=values(Stage.VALUES, WITHIN, leaf(_MEAN)),
            outcome="passed",
        ),
        Example(
            says="The outputs are right, the running mean was forgotten.",
            evidence=values(Stage.VALUES, WITHIN, replace(BEYOND, path=_MEAN)),
            outcome="failed",
        ),
        Example(
            says="The counter stands still.",
            evidence=values(Stage.VALUES, WITHIN, replace(UNEQUAL, path=_COUNT)),
            outcome="failed",
        ),
        Example(says="A workload without state.", evidence=values(Stage.VALUES, WITHIN), outcome="skipped"),
    )

    def judge(self, evidence: ValuesEvidence, rules: Rules) -> Finding:
        """The same bound as for outputs."""
        state = [one for one in evidence.leaves if is_state(one)]
        if not state:
            return nothing_of_that(self.name, "the workload changes no state")
        return judge_leaves(self.name, evidence, state, rules, when="Wrong state", advice=_ADVICE)


ITEM = UpdatesState()
