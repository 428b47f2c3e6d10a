"""The workload's graphs and breaks."""

from __future__ import annotations

from strop.wire.messages import AskCapture, CaptureReply
from strop.worker.capturing import captured
from strop.worker.questions._base import Question
from strop.worker.session import Session


class AboutCapture(Question):
    """By the one road."""

    name = "capture"
    summary = "the workload's graphs and breaks"

    def answer(self, session: Session, request: AskCapture) -> CaptureReply:
        """Capture the reference's module."""
        return CaptureReply(capture=captured(session.opened).record)


ITEM = AboutCapture()
