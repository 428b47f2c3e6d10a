"""How many seconds a run may take, all its sittings together."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], float]

OVERRUN_S = 120.0
"""Seconds beyond the budget in which the run may confirm what it found; the first confirmation is never left out."""

CONFIRMATION_TIMES = 4.0
"""A confirmation takes about so many times what the first judgement of the same candidate took: every case instead of
some, and three pairs of fresh processes instead of a warm one.
"""

SEARCH_FRACTION = 0.5
"""Part of the budget that the search gets in any case, however long the survey took: a survey alone helps nobody."""


def is_spent(budget_s: float, used_s: float, survey_s: float, screening_s: float) -> bool:
    """True when no further candidate may begin; all seconds count from the run's first event.

    ``screening_s`` is the longest that a candidate took so far, 0 while nothing has been found that would have to be
    confirmed: after one more like it the confirmation must still end within the overrun.
    """
    needed_s = (1 + CONFIRMATION_TIMES) * screening_s
    is_late = screening_s > 0 and used_s + needed_s > budget_s + OVERRUN_S
    return is_late or used_s >= max(budget_s, survey_s + SEARCH_FRACTION * budget_s)


class Budget:
    """Counts from the run's first event; a resumed run has what its earlier sittings left. ``clock`` gives seconds."""

    def __init__(self, budget_s: float, used_before_s: float, clock: Clock) -> None:
        self.budget_s = budget_s
        self._used_before_s = used_before_s
        self._clock = clock
        self._began_s = clock()

    @property
    def used_s(self) -> float:
        """Seconds used, earlier sittings included."""
        return self._used_before_s + self._clock() - self._began_s

    def leaves(self, needed_s: float) -> bool:
        """True when a confirmation that takes ``needed_s`` would still end within the overrun."""
        return self.used_s + needed_s <= self.budget_s + OVERRUN_S
