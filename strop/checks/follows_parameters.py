"""Does the candidate use the parameters it has now, and not those it once saw?"""

from __future__ import annotations

from strop.checks._base import Check, Example, Rules
from strop.checks._bound import is_state, judge_leaves
from strop.checks._examples import BEYOND, WITHIN, values
from strop.records.evidence import Stage, ValuesEvidence
from strop.records.verdict import Finding

_ADVICE = (
    "Register parameters under the names that the workload gives them, and derive packed, folded or converted weights "
    "again when they change."
)


class FollowsParameters(Check):
    """Parameters are drawn again and copied in between runs; a stale pack then answers for the old ones."""

    name = "follows_parameters"
    summary = "After its parameters were changed in place the candidate answers for the new ones."
    stages = (Stage.PARAMETERS,)
    judges = ValuesEvidence
    examples = (
        Example(says="It follows.", evidence=values(Stage.PARAMETERS, WITHIN, draw=1), outcome="passed"),
        Example(
            says="It still uses weights that it packed on its first call.",
            evidence=values(Stage.PARAMETERS, BEYOND, draw=1),
            outcome="failed",
        ),
        Example(says="Nothing was compared.", evidence=values(Stage.PARAMETERS, draw=1), outcome="inconclusive"),
    )

    def judge(self, evidence: ValuesEvidence, rules: Rules) -> Finding:
        """The same bound as everywhere, on outputs."""
        outputs = [one for one in evidence.leaves if not is_state(one)]
        when = "Wrong after the parameters changed"
        return judge_leaves(self.name, evidence, outputs, rules, when=when, advice=_ADVICE)


ITEM = FollowsParameters()
