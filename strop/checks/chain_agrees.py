"""Is the time that was saved still saved when no call can be made before the one before it?"""

from __future__ import annotations

from dataclasses import replace

from strop.checks._base import Check, Example, Rules
from strop.checks._bound import is_state, judge_leaves, nothing_of_that
from strop.checks._examples import BEYOND, WITHIN, comparison, values
from strop.records.evidence import ChainEvidence, Stage
from strop.records.measurement import Chained, TimeDecision
from strop.records.verdict import Failed, Finding, Passed

_ADVICE = (
    "Do the whole work of a call in that call, with nothing but its own inputs: no call may be made ahead of the one "
    "before it, together with others, or later."
)
_TWICE = comparison(candidate_ns=200_000.0)
_AGREES = Chained(
    speedup=1.95,
    low=1.9,
    high=2.0,
    lost_ratio=0.01,
    least_lost_ratio=-0.04,
    shift_ratio=0.05,
    glue_ratio=0.3,
    pairs=5,
)
_NOTHING_SAVED = replace(_AGREES, speedup=1.0, low=0.98, high=1.02, lost_ratio=0.5, least_lost_ratio=0.4)


def _example(chained: Chained, *, wrong: bool = False, faster: bool = True) -> ChainEvidence:
    found = replace(_TWICE, chained=chained, decision=TimeDecision.FASTER if faster else TimeDecision.UNDECIDED)
    return ChainEvidence(comparison=found, links=(values(Stage.TIME, BEYOND if wrong else WITHIN),))


class ChainAgrees(Check):
    """In chained rounds every call's inputs follow from all results of the call before it. What was wrong there, or
    saves less there than noise and the chain itself explain, was no saving.
    """

    name = "chain_agrees"
    summary = "What is saved is saved as well when each call's inputs follow from the results of the call before it."
    stages = (Stage.TIME,)
    judges = ChainEvidence
    examples = (
        Example(says="As much is saved as in the published rounds.", evidence=_example(_AGREES), outcome="passed"),
        Example(
            says="Twice as fast only while all calls can be made together.",
            evidence=_example(_NOTHING_SAVED),
            outcome="failed",
        ),
        Example(says="What comes before its time is wrong.", evidence=_example(_AGREES, wrong=True), outcome="failed"),
        Example(
            says="Less is saved, and no more than the chain itself changes.",
            evidence=_example(replace(_NOTHING_SAVED, speedup=1.4, lost_ratio=0.2, least_lost_ratio=-0.1)),
            outcome="passed",
        ),
        Example(
            says="Too noisy to see even all of it lost.",
            evidence=_example(replace(_NOTHING_SAVED, least_lost_ratio=-0.2)),
            outcome="passed",
        ),
        Example(says="Nothing was saved anyway.", evidence=_example(_NOTHING_SAVED, faster=False), outcome="passed"),
        Example(says="Calls were not chained.", evidence=ChainEvidence(comparison=_TWICE), outcome="skipped"),
    )

    def judge(self, evidence: ChainEvidence, rules: Rules) -> Finding:
        """Values first: a wrong link saves anything."""
        comparison, chained = evidence.comparison, evidence.comparison.chained
        if chained is None:
            return nothing_of_that(
                self.name, "calls are chained on a CPU alone, and where four of them fit into memory"
            )
        for link in evidence.links:
            outputs = [one for one in link.leaves if not is_state(one)]
            found = judge_leaves(self.name, link, outputs, rules, when="Wrong in a chained call", advice=_ADVICE)
            if not isinstance(found, Passed):
                return found
        if comparison.decision is not TimeDecision.FASTER:
            return Passed(check=self.name, because="no gain is claimed that the chain could contradict")
        seen = f"{chained.speedup:.2f}x (at least {chained.low:.2f}, at most {chained.high:.2f})"
        if chained.least_lost_ratio > 0:
            return Failed(
                check=self.name,
                because=(
                    f"{comparison.speedup:.2f}x in rounds whose inputs are all there from the start, {seen} where each "
                    f"call's inputs follow from the results of the call before it. {_ADVICE}"
                ),
            )
        if 1 - 1 / comparison.speedup <= chained.lost_ratio - chained.least_lost_ratio:
            return Passed(
                check=self.name,
                because=f"chained {seen}; beside the noise of this even a lost gain would not show",
            )
        return Passed(check=self.name, because=f"chained {seen}")


ITEM = ChainAgrees()
