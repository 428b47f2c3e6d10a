"""Taking a run up again: only under the same conditions, and only where something is left to do."""

from __future__ import annotations

from dataclasses import replace

from strop.errors import UsageError
from strop.records.event import RunStarted, StopReason
from strop.records.workload import Description, SourceKind, Workload
from strop.supervisor.best import best_of, waiting
from strop.supervisor.budget import is_spent
from strop.supervisor.state import RunState

MANY_MODULES = 3


def check_resumable(before: RunStarted, now: RunStarted, run: str) -> None:
    """Refuse to mix measurements that may not be compared. Only the budget may differ.

    Raises:
        UsageError: with what differs, and that a new run is the way.
    """
    if before.workload.id != now.workload.id:
        raise UsageError(
            f"Run {run} was about another workload, or '{now.workload.name}' has changed since. Start a new run."
        )
    if before.target.name != now.target.name:
        raise UsageError(
            f"Run {run} was measured on the target {before.target.name}, and {now.target.name} was named. "
            "Leave --target out, or start a new run."
        )
    if before.target.identity != now.target.identity:
        raise UsageError(
            f"Run {run} was measured on another card ({before.target.identity}) than the one that is used here "
            f"({now.target.identity}), and such times are not compared. Name that card in CUDA_VISIBLE_DEVICES, or "
            "start a new run."
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


def check_same_code(before: Description, now: Description, workload: Workload, run: str) -> None:
    """Refuse to go on where the user's own code is no longer what was measured, in whichever module it changed.

    Ledgers that do not know the code are taken as they are.

    Raises:
        UsageError: with the modules that differ, and how the new run is started.
    """
    if not before.code or before.code == now.code:
        return
    old, new = dict(before.code), dict(now.code)
    differing = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    named = ", ".join(differing[:MANY_MODULES]) + (" and others" if len(differing) > MANY_MODULES else "")
    live = workload.source.kind is SourceKind.LIVE
    anew = "strop.optimize(model, example_inputs) in Python" if live else f"strop optimize {workload.name}"
    raise UsageError(
        f"The code of '{workload.name}' has changed since run {run} began (in {named}). Start a new run: {anew}"
    )


def is_over(state: RunState, budget_s: float) -> bool:
    """True when resuming could add nothing: all was tried or no budget is left, and what is kept was confirmed."""
    match state.ended.reason if state.ended else None:
        case StopReason.INCONCLUSIVE:
            return True
        case StopReason.NOTHING_LEFT | StopReason.NEAR_CEILING:
            return not waiting(state.screened, state.confirmed)
        case StopReason.BUDGET:
            spent = is_spent(budget_s, state.wall_seconds_s, state.survey_seconds_s or 0.0, screening_s(state))
            return spent and not waiting(state.screened, state.confirmed)
        case _:
            return False


def screening_s(state: RunState) -> float:
    """Seconds that the longest screening took; 0 while nothing has been found that would have to be confirmed."""
    return state.longest_screening_s if best_of(state.screened, state.confirmed).kept else 0.0
