"""Peak memory of one call of what is loaded."""

from __future__ import annotations

from strop.targets._devices import device_peak_bytes, held_bytes, on_host
from strop.wire.messages import AskMemory, MemoryReply
from strop.worker.memory import host_peak_bytes
from strop.worker.questions._base import Question, plain_call
from strop.worker.session import Session


class AboutMemory(Question):
    """Above what stood before."""

    name = "memory"
    summary = "peak memory of one call, and what is held for it between calls"

    def answer(self, session: Session, request: AskMemory) -> MemoryReply:
        """Call once and look at the high-water mark."""
        call = plain_call(session, session.runner.call)
        with session.opened.calling():
            if on_host(session.opened.workload.device):
                peak_bytes = host_peak_bytes(call)
                return MemoryReply(peak_bytes=peak_bytes, held_bytes=peak_bytes)
            peak_bytes = device_peak_bytes(call)
        return MemoryReply(peak_bytes=peak_bytes, held_bytes=held_bytes())


ITEM = AboutMemory()
