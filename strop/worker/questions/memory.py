"""Peak memory of one call of what is loaded."""

from __future__ import annotations

from strop.wire.messages import AskMemory, MemoryReply
from strop.worker.memory import peak_bytes
from strop.worker.questions._base import Question, plain_call
from strop.worker.session import Session


class AboutMemory(Question):
    """Above what stood before."""

    name = "memory"
    summary = "peak memory of one call"

    def answer(self, session: Session, request: AskMemory) -> MemoryReply:
        """Call once and look at the high-water mark."""
        call = plain_call(session, session.runner.call)
        with session.opened.calling():
            return MemoryReply(peak_bytes=peak_bytes(call))


ITEM = AboutMemory()
