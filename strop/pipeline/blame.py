"""Whose a fault is: a trusted child's is never put down to a candidate."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from strop.errors import BadWorkload, ChildFault, ChildLost, WorkloadInconclusive
from strop.ports import ChildPort
from strop.records.evidence import CrashEvidence, CrashKind


@contextmanager
def trusted(what: str) -> Generator[None]:
    """Turn the fault of a trusted child into an error that says whose it is: the workload's code or this machine."""
    try:
        yield
    except ChildFault as fault:
        raise blame(what, fault.evidence) from fault


@contextmanager
def owned(child: ChildPort) -> Generator[None]:
    """Around what is asked of a child whose workload was fine before: a trusted child's fault is no candidate's."""
    try:
        yield
    except ChildFault as fault:
        if child.role.is_judged:
            raise
        error = ChildLost if fault.evidence.kind is CrashKind.INFRASTRUCTURE else WorkloadInconclusive
        raise error(f"The {child.role} failed: {fault.evidence.detail}") from fault


_WORKLOADS_ADVICE = {
    CrashKind.MEMORY: "Make the workload smaller, or run on a machine with more memory.",
    CrashKind.TIMEOUT: "Make the workload smaller, or look for a loop that does not end.",
    CrashKind.DEVICE: "Run the workload with Python alone and mend the kernel that breaks off.",
    CrashKind.SIGNAL: "Run the workload with Python alone: if it dies there too, mend it; if not, please report it.",
    CrashKind.INFRASTRUCTURE: "If it comes again, see who kills processes here; if nobody does, please report it.",
    CrashKind.OUTPUT: "Take the printing out of the workload.",
    CrashKind.DISK: "Have the workload write less to disk.",
    CrashKind.PROCESSES: "Have the workload start no processes of its own.",
}


def blame(what: str, evidence: CrashEvidence) -> BadWorkload | WorkloadInconclusive:
    """The error for a trusted child's fault."""
    text = f"{what}: {evidence.detail}"
    if evidence.kind in (CrashKind.RAISED, CrashKind.EXITED):
        return BadWorkload(text)
    advice = _WORKLOADS_ADVICE.get(evidence.kind, "")
    error = ChildLost if evidence.kind is CrashKind.INFRASTRUCTURE else WorkloadInconclusive
    return error(f"{text} {advice}".rstrip())
