"""From a judgement to what becomes of the candidate."""

from __future__ import annotations

from strop.records.candidate import Candidate, SourceForm
from strop.records.decision import Decision, Drop, Judgement, Keep, Repair
from strop.records.event import Request
from strop.records.measurement import TimeDecision

_MENDABLE = ("builds", "keeps_interface")


def decide(candidate: Candidate, judgement: Judgement, request: Request) -> Decision:
    """Keep what is right, accurate enough, small enough and faster; otherwise say why not."""
    verdict, comparison = judgement.verdict, judgement.comparison
    objection = verdict.objection
    if objection is not None and objection.outcome == "failed":
        if objection.check in _MENDABLE and isinstance(candidate.form, SourceForm):
            return Repair(candidate=candidate, because=f"{objection.check}: {objection.because}")
        return Drop(candidate=candidate, reason=objection.check, because=objection.because, comparison=comparison)
    if objection is not None:
        return Drop(candidate=candidate, reason="inconclusive", because=f"{objection.check}: {objection.because}")
    if verdict.outcome != "passed" or comparison is None:
        return Drop(candidate=candidate, reason="inconclusive", because="no check looked at it, or it was not timed")
    if verdict.error_ratio is not None and verdict.error_ratio > request.max_error_ratio:
        return Drop(
            candidate=candidate,
            reason="less_accurate",
            because=f"its error is {verdict.error_ratio:.2f} times the baseline's; "
            f"--max-error-ratio is {request.max_error_ratio:g}",
            comparison=comparison,
        )
    memory = comparison.peak_memory_ratio
    if memory is not None and memory > request.max_memory_ratio:
        return Drop(
            candidate=candidate,
            reason="more_memory",
            because=f"it needs {memory:.2f} times the baseline's memory; "
            f"--max-memory-ratio is {request.max_memory_ratio:g}",
            comparison=comparison,
        )
    if comparison.decision is not TimeDecision.FASTER:
        return Drop(
            candidate=candidate,
            reason="not_faster",
            because=f"{comparison.decision}: {comparison.speedup:.3f}x [{comparison.low:.3f}, {comparison.high:.3f}]",
            comparison=comparison,
        )
    return Keep(candidate=candidate, verdict=verdict, comparison=comparison)
