"""What the loop needs from the line: one method for each station, whoever implements them."""

from __future__ import annotations

from typing import Protocol

from strop.records.candidate import Candidate
from strop.records.decision import Decision, Judgement, Keep
from strop.records.event import Admitted, BaselinesMeasured, Captured, CatalogueAsked, Challenged, Described, Profiled

Surveyed = Described | Admitted | Captured | BaselinesMeasured | Profiled | CatalogueAsked
"""What is found out once per run, before anything is proposed."""


class Stations(Protocol):
    """The stations of one workload. They are called in this order; any may raise a StropError, which ends the run.

    Processes are started when first needed, not when the object is made.
    """

    def describe(self) -> Described:
        """Load the workload behind the wall."""
        ...

    def admit(self) -> Admitted:
        """Find out whether verdicts on this workload mean anything."""
        ...

    def capture(self) -> Captured:
        """Capture the graphs."""
        ...

    def baselines(self) -> BaselinesMeasured:
        """Time eager and the compiler's modes."""
        ...

    def profile(self) -> Profiled:
        """See where the best baseline spends its time."""
        ...

    def catalogue(self) -> CatalogueAsked:
        """Ask every transform."""
        ...

    def recall(self, what: Surveyed) -> None:
        """Take over what an earlier sitting of the run found out; called instead of the method that would find it."""
        ...

    def judge(self, candidate: Candidate, *, fresh: bool) -> Judgement:
        """Run the cascade and time what passes; ``fresh`` asks for new seeds and for three new pairs of processes.

        What the candidate does wrong is in the verdict. A ChildFault or WorkloadInconclusive says that the trusted side
        failed: the loop notes the candidate as inconclusive and goes on.
        """
        ...

    def decide(self, candidate: Candidate, judgement: Judgement) -> Decision:
        """What becomes of the candidate."""
        ...

    def challenge(self, keep: Keep, mode: str) -> Challenged:
        """Time a confirmed candidate against a mode that takes long to build; what goes wrong is in the answer."""
        ...

    def device_seconds_s(self) -> float:
        """For how long this object has held the device's lock so far."""
        ...

    def close(self) -> None:
        """End all processes; idempotent."""
        ...
