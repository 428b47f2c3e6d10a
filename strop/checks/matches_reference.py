"""Are the values right, against the workload in double precision?"""

from __future__ import annotations

from dataclasses import replace

from strop.checks._base import Check, Example, Rules
from strop.checks._bound import is_state, judge_leaves
from strop.checks._examples import BEYOND, MASKED, NAN_FIGURES, UNEQUAL, WITHIN, drawn, leaf, values
from strop.records.evidence import Distribution, Stage, ValuesEvidence
from strop.records.verdict import Finding

_ADVICE = "Compute what the workload computes, for any values, in the precision that was promised."


class MatchesReference(Check):
    """Median, 99 %, 99.9 % and maximum of the error may each be ``error_factor`` times the larger of the baseline's
    and that of a model of honest rounding, on the same inputs.
    """

    name = "matches_reference"
    summary = "The outputs' errors against fp64 stay within what honest rounding explains, for every kind of input."
    stages = (Stage.VALUES, Stage.SHAPES)
    judges = ValuesEvidence
    examples = (
        Example(says="Another order of summation.", evidence=values(Stage.VALUES, WITHIN), outcome="passed"),
        Example(
            says="More accurate than the baseline.",
            evidence=values(Stage.VALUES, leaf(candidate=1e-9, baseline=1e-6)),
            outcome="passed",
        ),
        Example(
            says="The baseline is exact; one rounding to storage is forgiven.",
            evidence=values(Stage.VALUES, leaf(candidate=1e-8, baseline=0.0, honest=0.0)),
            outcome="passed",
        ),
        Example(says="Arithmetic in bfloat16.", evidence=values(Stage.VALUES, BEYOND), outcome="failed"),
        Example(says="NaN where there is none.", evidence=values(Stage.VALUES, MASKED), outcome="failed"),
        Example(
            says="A figure that is NaN is no small error.", evidence=values(Stage.VALUES, NAN_FIGURES), outcome="failed"
        ),
        Example(says="Three indices differ.", evidence=values(Stage.VALUES, UNEQUAL), outcome="failed"),
        Example(
            says="Three indices differ where the inputs hold ties: another of several equal elements.",
            evidence=values(Stage.VALUES, UNEQUAL, distribution=Distribution.TIES),
            outcome="passed",
        ),
        Example(
            says="Three indices were added up where the inputs hold ties: there is no such element.",
            evidence=values(Stage.VALUES, replace(UNEQUAL, strays=3), distribution=Distribution.TIES),
            outcome="failed",
        ),
        Example(
            says="Random numbers, from the same distribution.",
            evidence=values(Stage.VALUES, drawn(chance=0.3)),
            outcome="passed",
        ),
        Example(
            says="One mask for the whole batch.", evidence=values(Stage.VALUES, drawn(chance=1e-6)), outcome="failed"
        ),
        Example(
            says="Not from the same distribution, and neither is the baseline.",
            evidence=values(Stage.VALUES, drawn(chance=1e-6, baseline_excess=0.5)),
            outcome="passed",
        ),
        Example(says="Nothing was compared.", evidence=values(Stage.VALUES), outcome="inconclusive"),
    )

    def judge(self, evidence: ValuesEvidence, rules: Rules) -> Finding:
        """Outputs only; state that the workload changes has a check of its own."""
        outputs = [one for one in evidence.leaves if not is_state(one)]
        return judge_leaves(self.name, evidence, outputs, rules, when="Wrong values", advice=_ADVICE)


ITEM = MatchesReference()
