"""Looking early without fooling oneself: how much of the allowed error each look may spend, and whether to go on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from strop.records.measurement import TimeDecision
from strop.stats.compare import FALSE_FASTER_RATE, LEAST_SPEEDUP, Effect, decide
from strop.stats.student import normal_cdf, normal_quantile


class Reason(StrEnum):
    """Why measuring may stop, or that it may not."""

    DECIDED = "decided"
    HOPELESS = "hopeless"
    EXHAUSTED = "exhausted"
    GO_ON = "go_on"


@dataclass(frozen=True, slots=True)
class Look:
    """The answer to one look. ``more_pairs`` is how many further pairs to measure before the next; 0 when done."""

    reason: Reason
    decision: TimeDecision
    more_pairs: int

    @property
    def stop(self) -> bool:
        """True when further pairs would be wasted."""
        return self.reason is not Reason.GO_ON


@dataclass(frozen=True, slots=True)
class Plan:
    """At which numbers of pairs one looks. The last is the most that will be measured.

    The allowed rate of false "faster" is spent over the looks by the O'Brien-Fleming-like function of Lan and DeMets
    (Discrete sequential boundaries for clinical trials, Biometrika 1983): alpha(f) = 2 - 2 Phi(z(1 - alpha/2) /
    sqrt(f)) at the fraction f of the planned pairs. Each look tests at the increment, and the errors of all looks add
    up to no more than ``false_faster_rate`` whatever their dependence (Bonferroni), so the bound also holds for
    Student's distribution and a bootstrap.
    """

    looks: tuple[int, ...]
    false_faster_rate: float = FALSE_FASTER_RATE

    def __post_init__(self) -> None:
        rising = all(one < other for one, other in zip(self.looks, self.looks[1:], strict=False))
        if not self.looks or self.looks[0] < 2 or not rising:
            raise ValueError(f"looks {self.looks}: give rising numbers of pairs, the first at least 2")

    def spend(self, look: int) -> float:
        """Error that look number ``look`` (from 0) may make; all of them sum to ``false_faster_rate``."""
        before = self._spent(self.looks[look - 1] / self.looks[-1]) if look else 0.0
        return self._spent(self.looks[look] / self.looks[-1]) - before

    def _spent(self, fraction: float) -> float:
        edge = normal_quantile(1 - self.false_faster_rate / 2)
        return 2 - 2 * normal_cdf(edge / math.sqrt(fraction))

    def look(self, pairs: int) -> int | None:
        """Number of the look that is due after ``pairs`` pairs, or None between looks."""
        return self.looks.index(pairs) if pairs in self.looks else None


def consider(plan: Plan, look: int, effect: Effect) -> Look:
    """Look at what was measured so far.

    Stops when the samples decide, when even the upper end of the 95 % interval is below the least speed-up that counts
    (hopeless, which errs only towards keeping what is there), or at the last look. Otherwise says how many pairs to
    add: up to the next look.
    """
    decision = decide(effect, plan.spend(look))
    if decision is not TimeDecision.UNDECIDED:
        return Look(Reason.DECIDED, decision, 0)
    if effect.limits()[1] < math.log(LEAST_SPEEDUP):
        return Look(Reason.HOPELESS, decision, 0)
    if look == len(plan.looks) - 1:
        return Look(Reason.EXHAUSTED, decision, 0)
    return Look(Reason.GO_ON, decision, plan.looks[look + 1] - plan.looks[look])


def pairs_needed(effect: Effect, pairs: int, false_faster_rate: float = FALSE_FASTER_RATE) -> int | None:
    """How many pairs in all would show a speed-up of the size seen; None when what was seen is no gain that counts.

    ``pairs`` were measured so far; the error is taken to fall with the square root of their number.
    """
    if effect.log_ratio < math.log(LEAST_SPEEDUP):
        return None
    reach = max(effect.test_reach(false_faster_rate), effect.log_ratio - effect.limits()[0])
    return max(pairs, math.ceil(pairs * (reach / effect.log_ratio) ** 2))
