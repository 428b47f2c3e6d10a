"""Does the candidate live through everything after its build?"""

from __future__ import annotations

from strop.checks._base import Check, Example, Rules
from strop.checks._crashes import judge_crash
from strop.checks._examples import crash
from strop.records.evidence import CrashEvidence, CrashKind, Stage
from strop.records.verdict import Finding


class Survives(Check):
    """Speaks only when a run ended without an answer; what came before its end no longer counts."""

    name = "survives"
    summary = "No run of the candidate raises, exits, crashes, hangs, floods or eats the machine."
    stages = (Stage.INTERFACE, Stage.VALUES, Stage.PARAMETERS, Stage.STATE, Stage.SHAPES, Stage.TIME)
    judges = CrashEvidence
    examples = (
        Example(
            says="A kernel wrote outside its buffer.",
            evidence=crash(Stage.VALUES, CrashKind.SIGNAL, "The candidate was ended by SIGSEGV."),
            outcome="failed",
        ),
        Example(
            says="A kernel wrote outside its tensor on the device, and every later call there fails.",
            evidence=crash(Stage.VALUES, CrashKind.DEVICE, "The device raised: an illegal memory access."),
            outcome="failed",
        ),
        Example(
            says="It never answered.",
            evidence=crash(Stage.INTERFACE, CrashKind.TIMEOUT, "The candidate gave no answer to run within 60 s."),
            outcome="failed",
        ),
        Example(
            says="It ate the memory it was given.",
            evidence=crash(Stage.STATE, CrashKind.MEMORY, "The candidate held 9 GB of memory; the limit is 8 GB."),
            outcome="failed",
        ),
        Example(
            says="The device was lost; that says nothing about the candidate.",
            evidence=crash(Stage.TIME, CrashKind.INFRASTRUCTURE, "The device was lost."),
            outcome="inconclusive",
        ),
    )

    def judge(self, evidence: CrashEvidence, rules: Rules) -> Finding:
        """Every end without an answer fails, unless it was ours."""
        return judge_crash(self.name, evidence)


ITEM = Survives()
