"""What would be kept, held against a mode of the compiler that takes too long to build to be measured for everybody."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from strop.checks._base import Rules
from strop.errors import ChildFault, WorkloadInconclusive
from strop.pipeline.court import Court
from strop.pipeline.gold import within_memory
from strop.pipeline.judge import role_of
from strop.pipeline.measure import compare
from strop.ports import ChildPort
from strop.records.candidate import Candidate, CompiledForm
from strop.records.decision import Keep
from strop.records.event import Challenged
from strop.records.evidence import CrashKind
from strop.records.measurement import Comparison, Conditions
from strop.stats.sequential import Plan as Looks
from strop.wire.messages import ChildRole, Load, Loaded

CAP_S = 60.0
"""Seconds that the mode may take to build, compile and warm up."""
PROCESSES = 1
"""Nothing of this can make a claim larger, so one fresh pair says enough."""
LOOKS = Looks((5,))


def challenge(court: Court, keep: Keep, mode: str, rules: Rules, conditions: Conditions) -> Challenged:
    """Build the mode once, and time it against a fresh process of the candidate.

    Nothing of this can make a claim larger, so what the timed calls answered is not judged once more.
    """
    candidate = keep.candidate
    with ExitStack() as stack:
        try:
            rival = _built(court, stack, mode)
            with within_memory():
                found = replace(_timed(court, stack, candidate, rival, rules, conditions), baseline=mode)
        except (ChildFault, WorkloadInconclusive) as fault:
            return Challenged(mode=mode, candidate_id=candidate.id, because=str(fault))
    outdoes = found.speedup < keep.comparison.speedup
    return Challenged(mode=mode, candidate_id=candidate.id, comparison=found, outdoes=outdoes)


def _built(court: Court, stack: ExitStack, mode: str) -> ChildPort:
    child = stack.enter_context(court.wall.child(ChildRole.BASELINE))
    try:
        court.open(child)
        child.ask(Load(form=CompiledForm(mode=mode), target=court.target), Loaded, CAP_S)
        court.map(child, 1)
    except ChildFault as fault:
        late = fault.evidence.kind is CrashKind.TIMEOUT
        raise WorkloadInconclusive(f"did not finish in {CAP_S:g} s" if late else str(fault)) from fault
    return child


def _timed(
    court: Court, stack: ExitStack, candidate: Candidate, rival: ChildPort, rules: Rules, conditions: Conditions
) -> Comparison:
    wanted = [(role_of(candidate), candidate.form)] * PROCESSES
    children = [opened.result() for opened in court.begun(stack, wanted)]

    def lanes(process: int) -> tuple[ChildPort, ChildPort]:
        return rival, children[process]

    factor = min(rules.error_factor, rules.max_error_ratio)
    comparison, _ = compare(court, conditions, factor, lanes, processes=PROCESSES, looks=LOOKS)
    return comparison
