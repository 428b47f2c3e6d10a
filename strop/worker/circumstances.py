"""Run under a circumstance: the same contents elsewhere, other contents at the same address, a second instance,
another thread.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch

from strop.records.evidence import Circumstance
from strop.worker.guard import foreign
from strop.worker.leaves import Call
from strop.worker.rounds import mutated_inputs
from strop.worker.runner import Runner, deliver, restore_buffers
from strop.worker.session import Session
from strop.worker.tensors import like

Tensors = Mapping[str, torch.Tensor]

REPETITIONS = 3
_OFFSET_ELEMENTS = 3
_LITTER_TENSORS = 8
_LITTER_BYTES = 4 << 30
"""For each place; of a larger one there is one tensor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was called with what, and its result."""

    runner: Runner
    inputs: Tensors
    call: Call
    result: Any


def perform(session: Session, slot: int, circumstance: Circumstance) -> Outcome:
    """Run on one slot's inputs; every call starts from the delivered buffers.

    Raises:
        Blamed: what is loaded raises.
    """
    return _WAYS[circumstance](session, slot)


def call(session: Session, runner: Runner, inputs: Tensors) -> Outcome:
    """One call from the delivered state."""
    restore_buffers(runner, session.given.fixed)
    built = session.opened.shape.build(inputs)
    with session.opened.calling(), foreign(runner.who, runner.doing):
        result = runner.call(*built.args, **built.kwargs)
    return Outcome(runner=runner, inputs=inputs, call=built, result=result)


def _plain(session: Session, slot: int) -> Outcome:
    inputs = session.given.slot(slot)
    return call(session, session.runner, inputs)


def _relocated(session: Session, slot: int) -> Outcome:
    inputs = {path: _elsewhere(tensor) for path, tensor in session.given.slot(slot).items()}
    return call(session, session.runner, inputs)


def _elsewhere(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides that begins a few elements into its storage, so that it is aligned to elements
    alone.
    """
    if not tensor.numel():
        return tensor.clone()
    reach = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    storage = torch.empty(reach + _OFFSET_ELEMENTS, dtype=tensor.dtype, device=tensor.device)
    return storage.as_strided(tensor.shape, tensor.stride(), _OFFSET_ELEMENTS).copy_(tensor)


def _same_address(session: Session, slot: int) -> Outcome:
    """First other contents, then the slot's own at the very same addresses: an answer remembered by address is the
    wrong one.
    """
    own = session.given.slot(slot)
    inputs = {path: like(tensor) for path, tensor in _others(session, slot).items()}
    first = call(session, session.runner, inputs)
    _refill(inputs, own)
    outcome = call(session, session.runner, inputs)
    del first
    return outcome


def _others(session: Session, slot: int) -> Tensors:
    """The next slot's contents; with a single slot, its own in another order."""
    if session.given.slots > 1:
        return session.given.slot((slot + 1) % session.given.slots)
    return {path: tensor.reshape(-1).flip(0).reshape(tensor.shape) for path, tensor in session.given.slot(slot).items()}


def _refill(inputs: Tensors, values: Tensors) -> None:
    with torch.no_grad():
        for path, tensor in inputs.items():
            tensor.copy_(values[path])


def _second_instance(session: Session, slot: int) -> Outcome:
    inputs = session.given.slot(slot)
    second = session.second
    deliver(session.opened, second, session.given.fixed)
    return call(session, second, inputs)


def _second_thread(session: Session, slot: int) -> Outcome:
    inputs = session.given.slot(slot)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(call, session, session.runner, inputs).result()


def _after_collection(session: Session, slot: int) -> Outcome:
    """Collect garbage, and leave NaN in the memory that the next allocations will get."""
    gc.collect()
    inputs = session.given.slot(slot)
    places = [*inputs.values(), *session.made.slot(slot).values()]
    litter = [
        torch.full(tensor.shape, torch.nan, dtype=tensor.dtype, device=tensor.device)
        for tensor in places
        if tensor.dtype.is_floating_point
        for _ in range(max(1, min(_LITTER_TENSORS, _LITTER_BYTES // max(1, tensor.nbytes))))
    ]
    del litter
    return call(session, session.runner, inputs)


def _repeated(session: Session, slot: int) -> Outcome:
    inputs = session.given.slot(slot)
    mutated = {path: inputs[path].clone() for path in mutated_inputs(session.made)}
    outcome = call(session, session.runner, inputs)
    for _ in range(REPETITIONS - 1):
        _refill({path: inputs[path] for path in mutated}, mutated)
        outcome = call(session, session.runner, inputs)
    return outcome


_WAYS: Mapping[Circumstance, Callable[[Session, int], Outcome]] = {
    Circumstance.PLAIN: _plain,
    Circumstance.RELOCATED: _relocated,
    Circumstance.SAME_ADDRESS: _same_address,
    Circumstance.SECOND_INSTANCE: _second_instance,
    Circumstance.SECOND_THREAD: _second_thread,
    Circumstance.AFTER_COLLECTION: _after_collection,
    Circumstance.REPEATED: _repeated,
}
