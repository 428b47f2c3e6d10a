"""Is the answer about the inputs alone, whatever happened before and wherever they lie?"""

from __future__ import annotations

from strop.checks._base import Check, Example, Rules
from strop.checks._bound import is_state, judge_leaves
from strop.checks._examples import BEYOND, WITHIN, leaf, values
from strop.records.evidence import Circumstance, Stage, ValuesEvidence
from strop.records.verdict import Finding

_WHEN = {
    Circumstance.PLAIN: ("Wrong in a plain repetition", "Keep no answers."),
    Circumstance.RELOCATED: ("Wrong when the same contents lie at another address", "Keep no addresses of inputs."),
    Circumstance.SAME_ADDRESS: (
        "Wrong when other contents lie at the same address",
        "Do not keep answers by address, identity or version of an input: read it on every call.",
    ),
    Circumstance.SECOND_INSTANCE: (
        "Wrong beside a second instance",
        "Keep state in the instance, not in the class or module.",
    ),
    Circumstance.SECOND_THREAD: ("Wrong from a second thread", "Keep no state per thread, and guard what is shared."),
    Circumstance.AFTER_COLLECTION: ("Wrong after garbage was collected", "Own every buffer that a kernel reads."),
    Circumstance.REPEATED: (
        "Wrong when the call is repeated",
        "Look for a race, for memory that was never written, or for state that one call leaves to the next.",
    ),
}


class RepeatsItself(Check):
    """Every run is held against fp64, never against another run: differences between honest runs are no fault."""

    name = "repeats_itself"
    summary = "Runs under other circumstances (address, instance, thread, collection, repetition) are right as well."
    stages = (Stage.STATE,)
    judges = ValuesEvidence
    examples = (
        Example(
            says="Right from a second thread.",
            evidence=values(Stage.STATE, WITHIN, circumstance=Circumstance.SECOND_THREAD),
            outcome="passed",
        ),
        Example(
            says="Not the same bits again, and still within the bound.",
            evidence=values(Stage.STATE, leaf(candidate=1.5e-7), circumstance=Circumstance.REPEATED),
            outcome="passed",
        ),
        Example(
            says="It keeps answers by address.",
            evidence=values(Stage.STATE, BEYOND, circumstance=Circumstance.SAME_ADDRESS),
            outcome="failed",
        ),
        Example(
            says="Nothing was compared.",
            evidence=values(Stage.STATE, circumstance=Circumstance.RELOCATED),
            outcome="inconclusive",
        ),
    )

    def judge(self, evidence: ValuesEvidence, rules: Rules) -> Finding:
        """The same bound as everywhere, on outputs; the circumstance names the likely fault."""
        outputs = [one for one in evidence.leaves if not is_state(one)]
        when, advice = _WHEN[evidence.case.circumstance]
        return judge_leaves(self.name, evidence, outputs, rules, when=when, advice=advice)


ITEM = RepeatsItself()
