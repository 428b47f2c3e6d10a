"""Why a run stops: a word for programs and a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass

from strop.records.event import Best, StopReason
from strop.searches._base import Brief
from strop.searches._headroom import CHANGES_THE_WORK, headroom_ns

UNCONFIRMED = "what is kept passed every check and was faster, but its confirmation did not happen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the search came to its end."""

    reason: StopReason
    because: str


def budget_spent(budget_s: float) -> Ending:
    """The seconds are used up, or what is left of them is needed to confirm what was found."""
    return Ending(reason=StopReason.BUDGET, because=f"no further candidate fits into the budget of {budget_s:g} s")


def search_over(brief: Brief, best: Best, tried: int) -> Ending:
    """The search had nothing more to propose: say whether that is because there is nothing more to win."""
    if not brief.entries:
        return Ending(reason=StopReason.NOTHING_LEFT, because="no transform applies to this workload")
    won_ns = brief.baseline_ns * (1 - 1 / best.kept.comparison.speedup) if best.kept else 0.0
    left_ns = headroom_ns(brief) - won_ns
    # Where less is computed the old floors say nothing about what is left.
    floors_hold = best.kept is None or not CHANGES_THE_WORK & set(best.kept.candidate.legality)
    if floors_hold and left_ns < brief.worth_ns:
        because = (
            f"it runs near the ceilings of this machine: {max(0.0, left_ns) / 1e3:.3g} us a call are left above them, "
            f"and less than {brief.worth_ns / 1e3:.3g} us cannot be told from noise"
        )
        return Ending(reason=StopReason.NEAR_CEILING, because=because)
    if not tried:
        return Ending(reason=StopReason.NOTHING_LEFT, because="--forbid rules out everything that applies")
    return Ending(reason=StopReason.NOTHING_LEFT, because="everything that applies was tried")


def inconclusive(because: str) -> Ending:
    """Verdicts on this workload would mean nothing, or this machine cannot give any."""
    return Ending(reason=StopReason.INCONCLUSIVE, because=because)


def interrupted() -> Ending:
    """Somebody pressed Ctrl-C."""
    return Ending(reason=StopReason.INTERRUPTED, because="it was interrupted")


def fault(because: str) -> Ending:
    """An error ended the run; it is raised as well."""
    return Ending(reason=StopReason.FAULT, because=because)
