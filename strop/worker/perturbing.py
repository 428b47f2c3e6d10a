"""The honest-rounding answer of one slot."""

from __future__ import annotations

import torch

from strop.wire.messages import Perturb
from strop.worker.gold import Answer, write_answer
from strop.worker.rounding import Rounding, storage_unit
from strop.worker.session import Session


def perturb(session: Session, request: Perturb) -> None:
    """Run with every result moved by one rounding, and round once more what is stored in a narrower type than it was
    computed in.

    Raises:
        Blamed: the workload's code raises.
    """
    oracle = session.oracle
    mode = Rounding(request.contract or session.opened.contract, oracle.own, request.seed)
    answer = oracle.answer(session.given.fixed, session.given.slot(request.slot), mode)
    write_answer(_stored(session, answer, mode, oracle.own), session.made.slot(request.slot))


def _stored(session: Session, answer: Answer, mode: Rounding, own: torch.dtype) -> Answer:
    outputs = dict(answer.outputs)
    for leaf in session.reference.description.outputs:
        dtype = getattr(torch, leaf.tensor.dtype.value)
        if leaf.tensor.dtype.is_floating and storage_unit(dtype) > storage_unit(own):
            outputs[leaf.path] = outputs[leaf.path].clone()
            mode.move(outputs[leaf.path], storage_unit(dtype))
    return Answer(outputs=outputs, inputs=answer.inputs, buffers=answer.buffers, result=answer.result)
