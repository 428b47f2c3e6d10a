"""The main job: survey once, let the search propose, have everything judged, confirm what would be kept."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from strop.errors import ChildFault, InternalFault, StoreError, StropError, WorkloadInconclusive
from strop.ports import LedgerPort, Listener
from strop.records.candidate import Candidate
from strop.records.decision import Decision, Drop, Judgement, Keep
from strop.records.event import (
    BaselinesMeasured,
    Best,
    CatalogueAsked,
    Decided,
    Judged,
    Noted,
    Profiled,
    Proposed,
    RunEnded,
    RunStarted,
    StopReason,
)
from strop.records.evidence import CrashKind
from strop.records.result import RunResult
from strop.searches._base import Brief, Search
from strop.supervisor.best import CLASSES, best_of, fastest_first, overtaken
from strop.supervisor.brief import forbidden, make_brief
from strop.supervisor.budget import Budget, Clock, is_spent
from strop.supervisor.journal import Journal
from strop.supervisor.result import result_of
from strop.supervisor.resume import check_resumable, is_over, screening_s
from strop.supervisor.stations import Stations
from strop.supervisor.stop import UNCONFIRMED, Ending, budget_spent, fault, inconclusive, interrupted, search_over

PATIENCE = 3
"""Candidates in a row that the trusted side could not judge before the whole run is called inconclusive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything that a sitting needs. The ledger says whether ``run`` begins or is taken up again."""

    run: str
    started: RunStarted
    ledger: LedgerPort
    stations: Stations
    search: Search
    listeners: Sequence[Listener] = ()
    clock: Clock = time.monotonic


def optimize(job: Job) -> RunResult:
    """Carry a run to its end, from wherever its ledger says it stands.

    Ctrl-C ends the run with the best so far; the result says whether that was confirmed. An inadmissible workload gives
    a result with exit code 3. Listeners hear the events of earlier sittings first.

    Raises:
        UsageError: a run that cannot be taken up like this, a name that does not exist, a workload that does not load.
        StoreError: the ledger refused; what it holds is safe.
        StropError: a fault that ended the run; the ledger says so too.
    """
    return _Sitting(job).carry_out()


class _Sitting:
    """One process's share of a run."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.stations = job.stations
        self.journal = Journal(job.ledger, job.run, job.listeners)
        self.state = self.journal.state
        self.device_before_s = self.state.device_seconds_s
        self.budget = Budget(job.started.request.budget_s, self.state.wall_seconds_s, job.clock)
        self.survey_s = self.state.survey_seconds_s or 0.0
        self.unjudged_in_a_row = 0

    def carry_out(self) -> RunResult:
        forbidden(self.job.started.request.forbid)
        if self.state.started is not None:
            check_resumable(self.state.started, self.job.started, self.job.run)
            if is_over(self.state, self.job.started.request.budget_s):
                return result_of(self.state)
        try:
            self.end(self.walk_or_stop())
        finally:
            self.stations.close()
        return result_of(self.state)

    def walk_or_stop(self) -> Ending:
        try:
            self.journal.write(replace(self.job.started, resumed=self.state.started is not None))
            return self.walk()
        except KeyboardInterrupt:
            self.journal.catch_up()
            if self.state.started is None:
                raise
            return interrupted()
        except WorkloadInconclusive as error:
            return inconclusive(str(error))
        except StoreError:
            # The ledger itself refused: there is no place left in which to note the end.
            raise
        except StropError as error:
            self.end(fault(str(error)))
            raise

    def walk(self) -> Ending:
        """Survey, search, confirm."""
        admitted = self.survey()
        if admitted:
            return inconclusive(admitted)
        self.survey_s = self.survey_s or self.budget.used_s
        brief = self.brief()
        ending = self.search(brief)
        self.confirm()
        return ending

    def survey(self) -> str:
        """Each station once per run, whatever sitting did it; the reason when the workload is inadmissible."""
        stations = self.stations
        for event, station in (
            ("described", stations.describe),
            ("admitted", stations.admit),
            ("captured", stations.capture),
            ("baselines_measured", stations.baselines),
            ("profiled", stations.profile),
            ("catalogue_asked", stations.catalogue),
        ):
            known = self.state.surveyed.get(event)
            if known is None:
                self.journal.write(station())
            else:
                stations.recall(known)
            admitted = self.state.admitted
            if admitted is not None and not admitted.admissible:
                return admitted.because or "the workload cannot tell a right answer from a wrong one"
        return ""

    def brief(self) -> Brief:
        """What the search is told, read back from the state so that every sitting tells it the same."""
        started, found = self.state.started, self.state.surveyed
        baselines, profiled = found.get("baselines_measured"), found.get("profiled")
        catalogue = found.get("catalogue_asked")
        if (
            started is None
            or not isinstance(baselines, BaselinesMeasured)
            or not isinstance(profiled, Profiled)
            or not isinstance(catalogue, CatalogueAsked)
        ):
            raise InternalFault("A station of the survey answered with another station's event. Please report this.")
        return make_brief(started, baselines, profiled, catalogue)

    def search(self, brief: Brief) -> Ending:
        """Judge what the search proposes; what is in the ledger is answered from there and never judged again."""
        walk = self.job.search.candidates(brief)
        candidate = _next(walk, None)
        while candidate is not None:
            decision = self.state.screened.get(candidate.id)
            if decision is None:
                if self.is_spent():
                    walk.close()
                    return budget_spent(self.budget.budget_s)
                self.journal.write(Proposed(candidate=candidate))
                decision = self.judge(candidate, fresh=False)
            candidate = _next(walk, decision)
        best = best_of(self.state.screened, self.state.confirmed)
        return search_over(brief, best, len(self.state.screened))

    def is_spent(self) -> bool:
        """True when no further candidate may begin. What is in work is finished."""
        return is_spent(self.budget.budget_s, self.budget.used_s, self.survey_s, screening_s(self.state))

    def confirm(self) -> None:
        """Judge again what would be kept, for each class that is scored apart, until one holds.

        The first is always begun; others only while they would end in time, going by how long one took. What a mode
        of the compiler has overtaken meanwhile is settled without being begun.
        """
        needed_s: float | None = None
        for admits in CLASSES:
            for keep in fastest_first(self.state.screened.values(), admits):
                word = self.state.confirmed.get(keep.candidate.id) or self.overtaken(keep)
                if word is None:
                    if needed_s is not None and not self.budget.leaves(needed_s):
                        return
                    began_s = self.budget.used_s
                    word = self.judge(keep.candidate, fresh=True)
                    needed_s = max(needed_s or 0.0, self.budget.used_s - began_s)
                if isinstance(self.challenged(word), Keep):
                    break

    def overtaken(self, keep: Keep) -> Drop | None:
        """The last word on a candidate that need not be confirmed any more."""
        word = overtaken(keep, self.state.challenges)
        if word is not None:
            self.decided(word, final=True)
        return word

    def challenged(self, word: Decision) -> Decision:
        """Hold what was confirmed against the modes that take too long to build for anything else."""
        for mode in self.job.started.challengers:
            name = word.candidate.id
            if isinstance(word, Keep) and not self.state.is_settled(mode, name):
                self.journal.write(self.stations.challenge(word, mode))
                self.note_best()
                word = self.state.confirmed[name]
        return word

    def judge(self, candidate: Candidate, *, fresh: bool) -> Decision:
        """One candidate from the cascade to its decision; trouble on the trusted side makes it inconclusive."""
        trouble: ChildFault | WorkloadInconclusive | None = None
        try:
            judgement = self.judgement(candidate, fresh=fresh)
        except (ChildFault, WorkloadInconclusive) as error:
            trouble = error
            decision = Drop(candidate=candidate, reason="inconclusive", because=str(error))
        else:
            self.journal.write(Judged(verdict=judgement.verdict))
            decision = self.stations.decide(candidate, judgement)
        self.decided(decision, final=fresh)
        self.unjudged_in_a_row = self.unjudged_in_a_row + 1 if isinstance(trouble, WorkloadInconclusive) else 0
        if trouble is not None and self.unjudged_in_a_row >= PATIENCE:
            raise WorkloadInconclusive(f"{PATIENCE} candidates in a row could not be judged. {trouble}")
        return decision

    def decided(self, decision: Decision, *, final: bool) -> None:
        """Write down what becomes of a candidate."""
        held_s = self.stations.device_seconds_s()
        self.journal.write(Decided(decision=decision, final=final, device_seconds_s=held_s))
        self.note_best()

    def judgement(self, candidate: Candidate, *, fresh: bool) -> Judgement:
        """Ask the station; what is nobody's fault but this machine's is tried once more."""
        try:
            return self.stations.judge(candidate, fresh=fresh)
        except ChildFault as error:
            if error.evidence.kind is not CrashKind.INFRASTRUCTURE:
                raise
            self.journal.write(Noted(text=f"{candidate.id} is judged once more: {error.evidence.detail}"))
            return self.stations.judge(candidate, fresh=fresh)

    def note_best(self) -> None:
        """Write down the best of each class where it changed."""
        best = best_of(self.state.screened, self.state.confirmed)
        if best != (self.state.best or Best(kept=None, without_work_removed=None, without_compiler=None)):
            self.journal.write(best)

    def end(self, ending: Ending) -> None:
        """The last event of the sitting."""
        self.note_best()
        kept = best_of(self.state.screened, self.state.confirmed).kept
        sure = kept is None or kept.candidate.id in self.state.confirmed
        self.journal.write(
            RunEnded(
                because=ending.because if sure else f"{ending.because}; {UNCONFIRMED}",
                device_seconds_s=self.device_before_s + self.stations.device_seconds_s(),
                wall_seconds_s=self.budget.used_s,
                interrupted=ending.reason is StopReason.INTERRUPTED,
                reason=ending.reason,
            )
        )


def _next(walk: Generator[Candidate, Decision, None], answer: Decision | None) -> Candidate | None:
    """The search's next candidate, None when it has no more; the first is asked for without an answer."""
    try:
        return next(walk) if answer is None else walk.send(answer)
    except StopIteration:
        return None
