"""What a child's end says, and what its candidate's author can do about it."""

from __future__ import annotations

from strop.records.evidence import CrashEvidence, CrashKind, Stage
from strop.records.verdict import Failed, Finding, Inconclusive

_ADVICE = {
    CrashKind.RAISED: "Make it run on the inputs and constructor arguments that the workload takes.",
    CrashKind.EXITED: "Code that is judged must not end its process: return the outputs instead.",
    CrashKind.SIGNAL: "Look for reads or writes outside a buffer, a wrong pointer or a stack that ran over.",
    CrashKind.TIMEOUT: "Look for a loop that does not end or a lock that nobody frees, or make it faster.",
    CrashKind.MEMORY: "Make it hold less: work in blocks, free intermediates, keep no answers.",
    CrashKind.DEVICE: (
        "A kernel broke off: look for addresses outside a tensor, for wrong strides or pointers, for failed asserts."
    ),
    CrashKind.OUTPUT: "Take the printing out.",
    CrashKind.DISK: "Write less to disk, or nothing: only compilers need scratch space.",
    CrashKind.PROCESSES: "Start no processes of its own.",
    CrashKind.PROTOCOL: "Leave file descriptors alone that it did not open.",
}
_WHERE = {
    Stage.BUILD: "while it was built and loaded",
    Stage.INTERFACE: "in its first run",
    Stage.VALUES: "while its values were judged",
    Stage.PARAMETERS: "after its parameters were drawn again",
    Stage.STATE: "while runs were repeated under other circumstances",
    Stage.SHAPES: "while other shapes and layouts were judged",
    Stage.TIME: "while it was timed",
}


def judge_crash(check: str, evidence: CrashEvidence) -> Finding:
    """Failed with a sentence; Inconclusive when the fault is the machine's or ours."""
    if evidence.kind is CrashKind.INFRASTRUCTURE:
        because = f"The machine or Strop failed, not the candidate: {evidence.detail} Try again."
        return Inconclusive(check=check, because=because)
    where = _WHERE.get(evidence.stage, f"in the step '{evidence.stage}'")
    detail = evidence.detail.strip().rstrip(".")
    return Failed(check=check, because=f"It ended {where}: {detail}. {_ADVICE[evidence.kind]}{_last_line(evidence)}")


def _last_line(evidence: CrashEvidence) -> str:
    lines = [line.strip() for line in evidence.log_tail.splitlines() if line.strip()]
    return f" The last it printed: {lines[-1][:200]!r}." if lines else ""
