"""One call between the marks at which a tool outside begins and ends to read the device's counters."""

from __future__ import annotations

from strop.targets._devices import counted_part
from strop.wire.messages import AskCounters, Done
from strop.worker.questions._base import Question, settled
from strop.worker.questions.profile import subject
from strop.worker.session import Session


class AboutCounters(Question):
    """The same call as for a profile, so that its kernels are the same; the figures go to the tool, not through us."""

    name = "counters"
    summary = "one call, marked for a tool that reads the device's counters"

    def answer(self, session: Session, request: AskCounters) -> Done:
        """Warm up, then call once within the marks."""
        with session.opened.calling():
            call, _, _ = subject(session)
            settle = settled(session)
            call()
            settle()
            with counted_part(session.opened.workload.device):
                call()
                settle()
        return Done()


ITEM = AboutCounters()
