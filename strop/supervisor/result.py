"""The result of a run, from its events alone: the same while it runs, after it, and years later from the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from strop.errors import UsageError
from strop.records.decision import Drop, Keep, Repair
from strop.records.event import Event
from strop.records.result import Kept, RunResult
from strop.supervisor.best import best_of
from strop.supervisor.state import RunState, run_state


def summarise(events: Iterable[Event]) -> RunResult:
    """What the run came to so far.

    Raises:
        UsageError: there are no events of such a run.
    """
    return result_of(run_state(events))


def result_of(state: RunState) -> RunResult:
    """The same for a state that was folded before.

    Raises:
        UsageError: the run never started.
    """
    if state.started is None:
        raise UsageError("There is no such run in this ledger. `strop show` lists those that are there.")
    best = best_of(state.screened, state.confirmed)
    stopped = Counter(_stopped_by(state, name) for name in state.proposed)
    baselines = state.baselines
    return RunResult(
        run=state.run,
        workload=state.started.workload.name,
        workload_id=state.started.workload.id,
        target=state.started.target.name,
        contract=state.started.request.contract.name,
        baselines_ns=baselines.call_ns if baselines else (),
        baselines_failed=baselines.failed if baselines else (),
        baselines_same=baselines.same if baselines else (),
        baseline=baselines.best if baselines else None,
        kept=_kept(best.kept, state),
        without_work_removed=_kept(best.without_work_removed, state),
        without_compiler=_kept(best.without_compiler, state),
        proposed=len(state.proposed),
        failed=tuple(sorted((name, count) for name, count in stopped.items() if name not in _NO_CHECK)),
        inconclusive=stopped["inconclusive"],
        not_faster=stopped["not_faster"],
        pending=stopped[_PENDING],
        device_seconds_s=state.device_seconds_s,
        wall_seconds_s=state.wall_seconds_s,
        tokens=state.ended.tokens if state.ended else 0,
        because=state.ended.because if state.ended else "",
        reason=state.ended.reason if state.ended else None,
    )


_PENDING, _KEPT = "(in work)", "(kept)"
_NO_CHECK = frozenset({"inconclusive", "not_faster", _PENDING, _KEPT})


def _kept(keep: Keep | None, state: RunState) -> Kept | None:
    return None if keep is None else Kept(keep=keep, confirmed=keep.candidate.id in state.confirmed)


def _stopped_by(state: RunState, candidate_id: str) -> str:
    """The check that stopped a candidate, or what else became of it."""
    match state.final_word(candidate_id):
        case Drop(reason=reason):
            return reason
        case Repair():
            verdict = state.verdicts.get(candidate_id)
            return verdict.objection.check if verdict and verdict.objection else "build"
        case Keep():
            return _KEPT
        case None:
            return _PENDING
