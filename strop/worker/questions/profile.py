"""Where a call's time goes, kernel by kernel, and what the compiler made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch.fx import GraphModule

from strop.lowering import closed_doors
from strop.lowering.kernel_edits import kernel_hash
from strop.profiling import KERNEL_RANGES, profile_calls
from strop.records.graph import CompilerOutput, KernelKind
from strop.wire.messages import AskProfile, KernelSample, ProfileReply
from strop.worker.capturing import captured
from strop.worker.guard import foreign
from strop.worker.questions._base import Question, settled, started_call
from strop.worker.session import Session

WARM_UP_CALLS = 2


class AboutProfile(Question):
    """Compiled forms are compiled once more, with the marks that the profiler needs; others run as they are."""

    name = "profile"
    summary = "where a call's time goes, kernel by kernel, and what the compiler made"

    def answer(self, session: Session, request: AskProfile) -> ProfileReply:
        """Profile calls on the inputs of slot 0."""
        with session.opened.calling():
            call, outputs, graphs = subject(session)
            timed = started_call(session, session.runner.call) if session.runner.recompile else None
            reply = profile_calls(
                call,
                request.calls,
                outputs,
                graphs,
                session.opened.workload.device,
                timed=timed,
                settle=settled(session),
            )
        # A hook that this torch does not have is worth telling only where it would have been used.
        doors = closed_doors() if outputs else ()
        kernels = tuple(replace(each, hash=_hash(each)) for each in reply.kernels)
        return replace(reply, kernels=kernels, notes=(*reply.notes, *doors))


def _hash(kernel: KernelSample) -> str:
    """By which a recipe names it; only what the compiler generated can be named."""
    return kernel_hash(kernel.graph_id, kernel.source) if kernel.kind is KernelKind.GENERATED else ""


def subject(session: Session) -> tuple[Callable[[], Any], Sequence[CompilerOutput], Mapping[str, GraphModule]]:
    """What is called for a profile: what is loaded, with ranges around its kernels and none of them inside a CUDA
    graph, where that is the compiler's to say; with what the compiler made, and the graphs it made it from.
    """
    runner = session.runner
    if runner.recompile is None:
        graphs = (
            {each.record.id: each.module for each in captured(session.opened).modules} if runner.is_workload else {}
        )
        return started_call(session, runner.call), (), graphs
    with foreign(runner.who, "Compiling it again"):
        observed = runner.recompile(KERNEL_RANGES)
    call = started_call(session, observed.lowered)
    for _ in range(WARM_UP_CALLS):
        call()
    outputs = [graph.output for graph in observed.lowered.graphs if graph.output is not None]
    return call, outputs, observed.graphs


ITEM = AboutProfile()
