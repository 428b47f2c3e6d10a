"""Does the candidate build and load within its limits?"""

from __future__ import annotations

from strop.checks._base import Check, Example, Rules
from strop.checks._crashes import judge_crash
from strop.checks._examples import crash
from strop.records.evidence import BuildEvidence, CrashEvidence, CrashKind, Stage
from strop.records.verdict import Finding, Passed

_SPILLS = "spilled_bytes"


class Builds(Check):
    """A build that raises, exits, crashes, hangs or eats the machine fails; how its resources look is only said."""

    name = "builds"
    summary = "The candidate builds and loads within its limits of time, memory, disk and output."
    stages = (Stage.BUILD,)
    judges = (BuildEvidence, CrashEvidence)
    examples = (
        Example(says="It loaded.", evidence=BuildEvidence(seconds_s=0.8), outcome="passed"),
        Example(
            says="It loaded, and its kernels spill registers: worth telling, nothing to fail.",
            evidence=BuildEvidence(seconds_s=3.0, resources=(("registers", 255.0), (_SPILLS, 1024.0))),
            outcome="passed",
        ),
        Example(
            says="Its constructor raised.",
            evidence=crash(Stage.BUILD, CrashKind.RAISED, "ModelNew raised NameError: name 'tl' is not defined."),
            outcome="failed",
        ),
        Example(
            says="It ended its own process, with a status that claims success.",
            evidence=crash(Stage.BUILD, CrashKind.EXITED, "The candidate ended its process with status 0."),
            outcome="failed",
        ),
        Example(
            says="It never finished loading.",
            evidence=crash(Stage.BUILD, CrashKind.TIMEOUT, "The candidate gave no answer within 60 s."),
            outcome="failed",
        ),
        Example(
            says="The machine could not start a process: nobody knows whether the candidate builds.",
            evidence=crash(Stage.BUILD, CrashKind.INFRASTRUCTURE, "No process could be started."),
            outcome="inconclusive",
        ),
    )

    def judge(self, evidence: BuildEvidence | CrashEvidence, rules: Rules) -> Finding:
        """Crashes fail; what built passes."""
        if isinstance(evidence, CrashEvidence):
            return judge_crash(self.name, evidence)
        resources = ", ".join(f"{key} {value:g}" for key, value in evidence.resources)
        because = f"in {evidence.seconds_s:.1f} s" + (f"; {resources}" if resources else "")
        return Passed(check=self.name, because=because)


ITEM = Builds()
