"""Is what was timed also right?"""

from __future__ import annotations

from strop.checks._base import Check, Example, Rules
from strop.checks._bound import is_state, judge_leaves
from strop.checks._examples import BEYOND, WITHIN, values
from strop.records.evidence import Stage, ValuesEvidence
from strop.records.verdict import Finding

_ADVICE = "Do the whole work in every call, before it returns; a call must not know whether it is timed."


class AnswersOnTheClock(Check):
    """Secret calls of the timed rounds are graded from the bytes that lay there when the clock stopped."""

    name = "answers_on_the_clock"
    summary = "The results that the clock saw are right: no skipped, cached, deferred or batched work."
    stages = (Stage.TIME,)
    judges = ValuesEvidence
    examples = (
        Example(says="A timed call, right.", evidence=values(Stage.TIME, WITHIN), outcome="passed"),
        Example(
            says="Honest at first, cheap once it is timed.",
            evidence=values(Stage.TIME, BEYOND),
            outcome="failed",
        ),
        Example(says="Nothing was compared.", evidence=values(Stage.TIME), outcome="inconclusive"),
    )

    def judge(self, evidence: ValuesEvidence, rules: Rules) -> Finding:
        """The same bound as everywhere, on outputs."""
        outputs = [one for one in evidence.leaves if not is_state(one)]
        return judge_leaves(self.name, evidence, outputs, rules, when="Wrong in a timed call", advice=_ADVICE)


ITEM = AnswersOnTheClock()
