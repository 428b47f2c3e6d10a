"""What the compiler made of what is loaded."""

from __future__ import annotations

from strop.lowering import closed_doors
from strop.lowering.lower import Lowered
from strop.records.graph import CompilerOutput
from strop.wire.messages import AskCompilerOutput, CompilerOutputReply
from strop.worker.guard import foreign
from strop.worker.questions._base import Question
from strop.worker.session import Session


class AboutCompilerOutput(Question):
    """It is compiled once more, with a note of which graph nodes each kernel came from."""

    name = "compiler_output"
    summary = "the kernels that the compiler made"

    def answer(self, session: Session, request: AskCompilerOutput) -> CompilerOutputReply:
        """Kernels in call order over all graphs."""
        recompile = session.runner.recompile
        if recompile is None:
            note = "It is run as it is, and nothing of it is compiled by Strop."
            return CompilerOutputReply(output=CompilerOutput(kernels=(), notes=(note,)))
        built = session.opened.shape.build(session.opened.fresh_sample())
        with session.opened.calling(), foreign(session.runner.who, "Compiling it again"):
            observed = recompile({})
            observed.lowered(*built.args, **built.kwargs)
        return CompilerOutputReply(output=_joined(observed.lowered))


def _joined(lowered: Lowered) -> CompilerOutput:
    outputs = [graph.output for graph in lowered.graphs if graph.output is not None]
    return CompilerOutput(
        kernels=tuple(kernel for each in outputs for kernel in each.kernels),
        wrapper="\n\n".join(each.wrapper for each in outputs),
        notes=(*(note for each in outputs for note in each.notes), *closed_doors()),
    )


ITEM = AboutCompilerOutput()
