"""What a question's file provides: the answer to one request."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch

from strop.registry import Shelved
from strop.wire.messages import ReplyMessage
from strop.worker.guard import foreign
from strop.worker.session import Session


class Question(Shelved):
    """Answers one kind of request. A file on the shelf ends with ``ITEM = <subclass>()``."""

    @abstractmethod
    def answer(self, session: Session, request: Any) -> ReplyMessage:
        """The reply.

        Raises:
            Blamed: foreign code raises.
        """


def inputs_to_hand(session: Session) -> Mapping[str, torch.Tensor]:
    """Slot 0 once it was run on; before that it holds poison, and the sample serves as well."""
    return session.given.slot(0) if session.has_run else session.opened.fresh_sample()


def plain_call(session: Session, call: Callable[..., Any]) -> Callable[[], Any]:
    """A function without arguments that calls ``call`` on the inputs to hand; modes are the caller's business."""
    inputs, shape, runner = inputs_to_hand(session), session.opened.shape, session.runner

    def once() -> Any:
        built = shape.build(inputs)
        with foreign(runner.who, runner.doing):
            return call(*built.args, **built.kwargs)

    return once
