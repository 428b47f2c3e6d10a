"""What a question's file provides: the answer to one request."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch

from strop.registry import Shelved
from strop.targets._devices import synchronise
from strop.wire.messages import ReplyMessage
from strop.worker.guard import foreign
from strop.worker.rounds import mutated_inputs
from strop.worker.session import Session
from strop.worker.tensors import like


class Question(Shelved):
    """Answers one kind of request. A file on the shelf ends with ``ITEM = <subclass>()``."""

    @abstractmethod
    def answer(self, session: Session, request: Any) -> ReplyMessage:
        """The reply.

        Raises:
            Blamed: foreign code raises.
        """


def inputs_to_hand(session: Session) -> dict[str, torch.Tensor]:
    """Copies of slot 0 once it was run on; before that it holds poison, and the sample serves as well."""
    if not session.has_run:
        return session.opened.fresh_sample()
    return {path: like(tensor) for path, tensor in session.given.slot(0).items()}


def plain_call(session: Session, call: Callable[..., Any]) -> Callable[[], Any]:
    """A function without arguments that calls ``call`` on the inputs to hand and returns when that has ended; modes are
    the caller's business.

    Inputs that the workload itself changes are put back before each call.
    """
    start, settle = started_call(session, call), settled(session)

    def once() -> Any:
        result = start()
        settle()
        return result

    return once


def started_call(session: Session, call: Callable[..., Any]) -> Callable[[], Any]:
    """The same, but it returns as ``call`` does, and an accelerator may still be working."""
    inputs, shape, runner = inputs_to_hand(session), session.opened.shape, session.runner
    mutated = mutated_inputs(session.made) if session.is_mapped else ()
    kept = {path: inputs[path].clone() for path in mutated}

    def once() -> Any:
        for path, value in kept.items():
            inputs[path].copy_(value)
        built = shape.build(inputs)
        with foreign(runner.who, runner.doing):
            return call(*built.args, **built.kwargs)

    return once


def settled(session: Session) -> Callable[[], None]:
    """A function that returns when everything that was started has ended; a fault of it is put down to what is
    loaded.
    """
    runner, device = session.runner, session.opened.workload.device

    def wait() -> None:
        with foreign(runner.who, runner.doing):
            synchronise(device)

    return wait
