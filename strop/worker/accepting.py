"""Accept: the user's own acceptance function, asked about outputs that lie in the arena."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from strop.errors import BadWorkload
from strop.worker.guard import foreign
from strop.worker.leaves import is_left_behind
from strop.worker.session import Session


def accept(session: Session, slot: int) -> bool:
    """Call ``accept(outputs, expected)`` with both in the structure and types in which the model returns its results.

    Raises:
        BadWorkload: the workload declares no such function.
        Blamed: it raises.
    """
    function = session.opened.brought.accept
    if function is None:
        raise BadWorkload("The workload declares no acceptance function: define accept(outputs, expected) -> bool.")
    expected = session.oracle.answer(session.given.fixed, session.given.slot(slot)).outputs
    outputs = _as_returned(session, session.made.slot(slot))
    wanted = _as_returned(session, expected)
    with torch.no_grad(), foreign("workload", "accept()"):
        return bool(function(outputs, wanted))


def _as_returned(session: Session, values: Mapping[str, torch.Tensor]) -> Any:
    leaves = [leaf for leaf in session.reference.description.outputs if not is_left_behind(leaf.path)]
    tensors = [values[leaf.path].to(getattr(torch, leaf.tensor.dtype.value)).clone() for leaf in leaves]
    return session.reference.outputs.build(tensors)
