"""Taking a run up again: only under the same conditions, and only where something is left to do."""

from __future__ import annotations

from dataclasses import replace

from strop.errors import UsageError
from strop.records.event import RunStarted, StopReason
from strop.supervisor.best import waiting
from strop.supervisor.budget import limit_s
from strop.supervisor.state import RunState


def check_resumable(before: RunStarted, now: RunStarted, run: str) -> None:
    """Refuse to mix measurements that may not be compared. Only the budget may differ.

    Raises:
        UsageError: with what differs, and that a new run is the way.
    """
    if before.workload.id != now.workload.id:
        raise UsageError(
            f"Run {run} was about another workload, or '{now.workload.name}' has changed since. Start a new run."
        )
    difference = before.conditions.difference(now.conditions)
    if difference:
        raise UsageError(
            f"Run {run} was measured under other conditions ({difference}), and such times are not compared. "
            "Start a new run, or restore the conditions."
        )
    asked = replace(now.request, budget_s=before.request.budget_s)
    if asked != before.request:
        names = [name for name in asked.__slots__ if getattr(asked, name) != getattr(before.request, name)]
        raise UsageError(
            f"Run {run} was asked for with other options ({', '.join(names)}); only --budget may change. "
            "Leave them out, or start a new run."
        )


def is_over(state: RunState, budget_s: float) -> bool:
    """True when resuming could add nothing: all was tried or no budget is left, and what is kept was confirmed."""
    match state.ended.reason if state.ended else None:
        case StopReason.INCONCLUSIVE:
            return True
        case StopReason.NOTHING_LEFT | StopReason.NEAR_CEILING:
            return not waiting(state.screened, state.confirmed)
        case StopReason.BUDGET:
            spent = state.wall_seconds_s >= limit_s(budget_s, state.survey_seconds_s or 0.0)
            return spent and not waiting(state.screened, state.confirmed)
        case _:
            return False
