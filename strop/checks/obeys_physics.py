"""Is the measured time possible on this machine?"""

from __future__ import annotations

from strop.checks._base import Check, Example, Rules
from strop.checks._bound import nothing_of_that
from strop.checks._examples import comparison
from strop.records.evidence import Stage, TimingEvidence
from strop.records.verdict import Failed, Finding, Passed

SLACK = 0.9
_SURPRISING_SPEEDUP = 10.0


def _example(candidate_ns: float, floor_ns: float, baseline_ns: float = 400_000.0) -> TimingEvidence:
    found = comparison(candidate_ns, baseline_ns)
    return TimingEvidence(comparison=found, minimal_bytes=8 << 20, product_flop=0, floor_ns=floor_ns)


class ObeysPhysics(Check):
    """The floor errs downwards on purpose, and a tenth more is allowed: what lies below is no surprise but a fault
    of the measurement or of the candidate, and there is no score. Anything above is at most worth a word.
    """

    name = "obeys_physics"
    summary = "The time is not below what memory bandwidth and the fastest arithmetic unit allow."
    stages = (Stage.PLAUSIBILITY,)
    judges = TimingEvidence
    examples = (
        Example(says="Twice the floor.", evidence=_example(200_000.0, 100_000.0), outcome="passed"),
        Example(says="Within the slack below the floor.", evidence=_example(95_000.0, 100_000.0), outcome="passed"),
        Example(
            says="Surprisingly fast and possible: algebra can do that.",
            evidence=_example(20_000.0, 10_000.0),
            outcome="passed",
        ),
        Example(says="Faster than memory can deliver.", evidence=_example(50_000.0, 100_000.0), outcome="failed"),
        Example(says="Everything fits the cache: no floor is known.", evidence=_example(900.0, 0.0), outcome="skipped"),
    )

    def judge(self, evidence: TimingEvidence, rules: Rules) -> Finding:
        """Only a time below nine tenths of the floor fails."""
        time_ns, floor_ns = evidence.comparison.candidate_ns, evidence.floor_ns
        if not floor_ns > 0:
            return nothing_of_that(self.name, "the call is too small for a floor to be known")
        if not time_ns >= SLACK * floor_ns:
            return Failed(
                check=self.name,
                because=(
                    f"One call took {time_ns:,.0f} ns, and no implementation can move {evidence.minimal_bytes:,} bytes "
                    f"and do {evidence.product_flop:,} flop of products in less than {floor_ns:,.0f} ns here. "
                    "Work was skipped or the clock was deceived; if neither, calibrate the machine again."
                ),
            )
        because = f"{time_ns / floor_ns:.1f} times the floor"
        if evidence.comparison.speedup > _SURPRISING_SPEEDUP:
            because += f"; {evidence.comparison.speedup:.0f} times faster is worth a second look, and possible"
        return Passed(check=self.name, because=because)


ITEM = ObeysPhysics()
