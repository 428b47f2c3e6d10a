"""The line on this machine: every station as one method, in walking order, over one court."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from strop.checks._base import Rules
from strop.errors import BadCandidate, ChildFault, WorkloadInconclusive
from strop.pipeline import survey
from strop.pipeline.again import once_more
from strop.pipeline.aim import aim, build_profile
from strop.pipeline.blame import trusted
from strop.pipeline.challenge import challenge
from strop.pipeline.counters import count, heaviest, with_counters
from strop.pipeline.court import CHILDREN_OF_A_COURT, Court, Timeouts
from strop.pipeline.decide import decide
from strop.pipeline.explain import explain
from strop.pipeline.judge import CONFIRMATION, SCREENING, VERIFICATION, Floor, judge, role_of
from strop.pipeline.launches import measured
from strop.pipeline.liveness import liveness
from strop.pipeline.regions import NOTHING, Regions
from strop.ports import ChildPort, WallPort
from strop.records.candidate import Candidate, CompiledForm, Form
from strop.records.contract import Contract
from strop.records.decision import Decision, Judgement, Keep
from strop.records.event import (
    Admitted,
    BaselinesMeasured,
    Captured,
    CatalogueAsked,
    Challenged,
    Described,
    Profiled,
    Request,
)
from strop.records.explanation import Explanation
from strop.records.graph import Capture
from strop.records.liveness import Liveness
from strop.records.measurement import Conditions
from strop.records.profile import KernelProfile, Profile
from strop.records.target import Target
from strop.records.workload import Workload
from strop.targets._devices import on_host
from strop.wire.messages import AskProfile, AskProposals, ChildRole, ProfileReply, ProposalsReply

PROFILED_CALLS = 5


class LocalStations:
    """Stations that run on this machine. Enter it as a context; leaving ends every child. ``spare`` says that it has
    processors to spare for work that is not needed yet.
    """

    def __init__(
        self,
        *,
        wall: WallPort,
        workload: Workload,
        target: Target,
        request: Request,
        conditions: Conditions,
        spare: bool = False,
    ) -> None:
        self.wall = wall
        self.workload = workload
        self.target = target
        self.request = request
        self.conditions = conditions
        self.spare = spare
        self._stack = ExitStack()
        self._court: Court | None = None
        self._contenders: survey.Contenders | None = None
        self._capture: Capture | None = None
        self._kernels: tuple[KernelProfile, ...] = ()
        self._costs: tuple[int, int] | None = None
        self._baseline_mode = "eager"
        self._held_bytes = 0
        self._regions = Regions(rules=self.rules, conditions=conditions)

    def __enter__(self) -> LocalStations:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every child."""
        self._stack.close()
        self._court = self._contenders = None

    def make_room(self) -> None:
        """End the standing court where another one would find no room beside it; it opens again when it is needed."""
        if self._court is not None:
            self._held_bytes = self._court.held_bytes
            if not self._court.has_room_for(CHILDREN_OF_A_COURT):
                self.close()

    @property
    def contract(self) -> Contract:
        """The precision promise of this run."""
        return self.request.contract

    @property
    def court(self) -> Court:
        """The trusted children, opened when first needed (after a resume nothing may be needed at all)."""
        if self._court is None:
            self._court = self._stack.enter_context(self.new_court())
        return self._court

    def new_court(self) -> Court:
        """A court of its own: fresh processes, fresh secrets."""
        if not on_host(self.workload.device):
            # Answers of an earlier court may hang in cycles, such as those of an error and its traceback.
            gc.collect()
        return Court(
            wall=self.wall,
            workload=self.workload,
            contract=self.contract,
            target=self.target,
            baseline_mode=self._baseline_mode,
            timeouts=Timeouts(),
            held_bytes=self._held_bytes,
            spare=self.spare,
        )

    def device_seconds_s(self) -> float:
        """For how long the device's lock was held so far."""
        return self.wall.held_s(self.target.lock)

    def recall(self, what: Described | Admitted | Captured | BaselinesMeasured | Profiled | CatalogueAsked) -> None:
        """Take over what an earlier sitting of the run found out, instead of finding it out again."""
        if isinstance(what, Captured):
            self._capture = what.capture
        if isinstance(what, BaselinesMeasured):
            self.use_baseline(what.best)
        if isinstance(what, Profiled):
            self._kernels = what.profile.kernels

    @once_more
    def describe(self) -> Described:
        """Load the workload behind the wall."""
        return Described(description=self.court.description)

    @once_more
    def admit(self) -> Admitted:
        """Whether verdicts on it mean anything. The baselines load meanwhile, where that disturbs nobody."""
        if self.spare and self.court.has_room_for(len(self.request.baselines)):
            self._contenders = survey.contenders(self.court, self.request.baselines)
        return survey.admit(self.court)

    @once_more
    def capture(self) -> Captured:
        """Its graphs."""
        found = survey.capture(self.court)
        self._capture = found.capture
        return found

    @once_more
    def baselines(self) -> BaselinesMeasured:
        """What has to be beaten."""
        contenders, self._contenders = self._contenders, None
        found = survey.baselines(self.court, contenders or survey.contenders(self.court, self.request.baselines))
        if not found.best:
            raise WorkloadInconclusive(
                "No baseline could be built: " + "; ".join(f"{mode}: {why}" for mode, why in found.failed)
            )
        self.use_baseline(found.best)
        return found

    def use_baseline(self, mode: str) -> None:
        """Judge against this mode from now on."""
        self._baseline_mode = mode
        if self._court is not None and self._court.baseline_mode != mode:
            self._court.change_baseline(mode)

    @once_more
    def profile(self, candidate: Candidate | None = None, *, counters: bool = False) -> Profiled:
        """Where the compiler's version spends its time, or a candidate in its place; with the device's own counters
        where they are wanted, which takes a process of its own and up to `strop.pipeline.counters.TIMEOUT_S` seconds.

        Raises:
            BadCandidate: the candidate cannot be built, or it raises.
        """
        court, form, role = self.court, self._form(candidate), self._role(candidate)
        with _blaming(candidate), ExitStack() as stack:
            child = court.baseline if candidate is None else court.loaded(stack, role, form)
            reply = self._profiled(child)
        if counters and self.target.multiprocessor is not None:
            reply = with_counters(reply, count(court, role, form, heaviest(reply)))
        if candidate is not None:
            reply = replace(reply, notes=(f"Profiled is the candidate {candidate.id}, no baseline.", *reply.notes))
        profile = build_profile(self.workload.id, self.target, reply)
        if candidate is None:
            self._kernels = profile.kernels
        return Profiled(profile=profile, opportunities=aim(profile, self._captured()))

    @once_more
    def call(self) -> Profile:
        """Where one call of the baseline spends its time, whether or not the workload can be captured."""
        with _blaming(None):
            return build_profile(self.workload.id, self.target, self._profiled(self.court.baseline))

    def _profiled(self, child: ChildPort) -> ProfileReply:
        self.court.deliver(child, 0)
        with self.court.device(timed=True):
            request = AskProfile(calls=PROFILED_CALLS, target=self.target)
            return child.ask(request, ProfileReply, self.court.timeouts.build_s)

    @once_more
    def liveness(self, limit_s: float, say: Callable[[str], None]) -> Liveness:
        """What could be left out of it without anybody noticing."""
        return liveness(self.court, limit_s, say)

    def _form(self, candidate: Candidate | None) -> Form:
        return candidate.form if candidate is not None else CompiledForm(mode=self._baseline_mode)

    def _role(self, candidate: Candidate | None) -> ChildRole:
        return role_of(candidate) if candidate is not None else ChildRole.BASELINE

    def _captured(self) -> Capture:
        if self._capture is None:
            self._capture = survey.capture(self.court).capture
        return self._capture

    @once_more
    def catalogue(self) -> CatalogueAsked:
        """What the transforms propose."""
        reply = self._proposals()
        proposals = measured(self.court, reply.proposals, self._kernels, self.request.budget_s)
        return CatalogueAsked(proposals=proposals, declines=reply.declines)

    def _proposals(self) -> ProposalsReply:
        with trusted("The catalogue could not be asked"):
            reply = self.court.reference.ask(
                AskProposals(target=self.target, kernels=self._kernels), ProposalsReply, self.court.timeouts.build_s
            )
        self._costs = (reply.minimal_bytes, reply.product_flop)
        return reply

    @once_more
    def judge(self, candidate: Candidate, *, fresh: bool) -> Judgement:
        """The referee and the clock on one candidate. ``fresh``: new secrets, new processes, every case, three pairs
        of processes.
        """
        if self._costs is None:
            self._proposals()
        minimal_bytes, product_flop = self._costs or (0, 0)
        rules = self.rules
        floor = Floor(minimal_bytes=minimal_bytes, product_flop=product_flop)
        if not fresh:
            return judge(self.court, candidate, rules, self.conditions, floor, SCREENING)
        self.make_room()
        with self.new_court() as court:
            whole = partial(judge, court, candidate, rules, self.conditions, floor, CONFIRMATION)
            return self._regions.judged(court, candidate, whole)

    @once_more
    def verify(self, candidate: Candidate) -> Judgement:
        """The referee on one candidate, without the clock."""
        whole = partial(judge, self.court, candidate, self.rules, self.conditions, NOTHING, VERIFICATION)
        return self._regions.judged(self.court, candidate, whole)

    @property
    def rules(self) -> Rules:
        """What the judge is told."""
        asked = self.request
        return Rules(contract=self.contract, forbid=asked.forbid, max_error_ratio=asked.max_error_ratio)

    @once_more
    def explain(self, candidate: Candidate, say: Callable[[str], None]) -> Explanation:
        """How far its answers lie from the exact ones, for each kind of inputs."""
        return explain(self.court, candidate, self.rules, say)

    @once_more
    def challenge(self, keep: Keep, mode: str) -> Challenged:
        """Time a confirmed candidate against a mode that takes long to build."""
        return challenge(self.court, keep, mode, self.rules, self.conditions)

    def decide(self, candidate: Candidate, judgement: Judgement) -> Decision:
        """What becomes of it."""
        return decide(candidate, judgement, self.request)


def _blaming(candidate: Candidate | None) -> AbstractContextManager[None]:
    """Around what is asked of a child: a fault is the candidate's, or that of the compiler's version."""
    return trusted("The baseline could not be profiled") if candidate is None else _candidates_own()


@contextmanager
def _candidates_own() -> Generator[None]:
    try:
        yield
    except ChildFault as fault:
        raise BadCandidate(f"The candidate could not be profiled: {fault.evidence.detail}") from fault
