"""A timed round: N calls over the slots, results copied out. Everything that can be prepared before the clock starts
is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from strop.errors import BadCandidate
from strop.records.workload import Leaf
from strop.wire.chain import Chain
from strop.worker.arenas import Arena
from strop.worker.guard import foreign
from strop.worker.leaves import Call, flatten_call, is_left_behind, tensors_in
from strop.worker.opened import Opened
from strop.worker.runner import Runner
from strop.worker.tensors import plain

STATE = "state:"
STATE_INPUTS = "state:inputs:"
STATE_BUFFERS = "state:buffers:"

_copy = torch.Tensor.copy_
_address = torch.Tensor.data_ptr
_PlainTensor = torch.Tensor


class Round:
    """Calls and places for their results, per slot."""

    def __init__(self, opened: Opened, runner: Runner, given: Arena, made: Arena) -> None:
        self._opened = opened
        self._runner = runner
        self._slots = min(given.slots, made.slots)
        self._inputs = [given.slot(slot) for slot in range(self._slots)]
        self._places = [outputs_of(made.slot(slot)) for slot in range(self._slots)]
        self._left = [left_of(made.slot(slot)) for slot in range(self._slots)]
        self._leaves = [Leaf(path=span.path, tensor=span.tensor, domain=span.domain) for span in given.layout.slot]
        shape = opened.shape
        self._calls = [shape.build(inputs) for inputs in self._inputs] if shape.reusable else None
        mutated = mutated_inputs(made)
        self._mutated = [{path: inputs[path] for path in mutated} for inputs in self._inputs]

    def play(self, calls: int, key: int = 0) -> None:
        """Do ``calls`` calls, call i on slot i modulo the slots.

        Inputs that the workload itself changes are put back before a slot is used again; the copies are paid by every
        side. With a ``key`` no call's inputs are there before the call before it has left its results: they are made
        of those and of what lies in the slots behind the last call's.

        Raises:
            Blamed: what is loaded raises.
        """
        runner, slots = self._runner, self._slots
        kept = self._keep() if calls > slots else None
        chain = Chain(key, self._leaves, self._inputs[calls:]) if key else None
        with self._opened.calling(), foreign(runner.who, runner.doing):
            for index in range(calls):
                slot = index % slots
                if chain is not None:
                    self._link(chain, slot)
                if kept is not None and index >= slots:
                    for path, tensor in self._mutated[slot].items():
                        _copy(tensor, kept[slot][path])
                call = self._call(slot)
                if not deposit(runner.call(*call.args, **call.kwargs), self._places[slot]):
                    raise BadCandidate(
                        "a timed call handed back other results than the others did, or had put them where only the "
                        "harness puts results: return new tensors"
                    )
                deposit_left(call, self._left[slot])

    def _link(self, chain: Chain, slot: int) -> None:
        before = {**self._places[slot - 1], **self._left[slot - 1]} if slot else {}
        for path, made in chain.inputs(slot, before).items():
            _copy(self._inputs[slot][path], made)

    def _call(self, slot: int) -> Call:
        return self._calls[slot] if self._calls is not None else self._opened.shape.build(self._inputs[slot])

    def _keep(self) -> list[dict[str, torch.Tensor]] | None:
        if not any(self._mutated):
            return None
        return [{path: tensor.clone() for path, tensor in slot.items()} for slot in self._mutated]


def outputs_of(made: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The places of one slot that hold results, not state."""
    return {path: view for path, view in made.items() if not path.startswith(STATE) and not is_left_behind(path)}


def left_of(made: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The places of one slot for what the workload puts into its arguments."""
    return {path: view for path, view in made.items() if is_left_behind(path)}


def mutated_inputs(made: Arena) -> tuple[str, ...]:
    """Inputs that the workload itself writes to, as the layout says."""
    paths = [span.path for span in made.layout.slot]
    return tuple(path.removeprefix(STATE_INPUTS) for path in paths if path.startswith(STATE_INPUTS))


def deposit(result: Any, places: Mapping[str, torch.Tensor]) -> bool:
    """Copy results to their places, by path or else by position; what has another shape or type is not copied.

    Nothing is converted on the way: where a result does not fit, the poison stays and shows. False where one is
    missing, does not fit, or lies in its place already: everybody pays for the copy, and its cost is subtracted.
    """
    if type(result) is _PlainTensor and len(places) == 1:
        return all([_put(place, result) for place in places.values()])
    found = tensors_in(result, "out")
    if not all(path in found for path in places):
        found = {**dict(zip(places, found.values(), strict=False)), **found}
    return all([path in found and _put(place, found[path]) for path, place in places.items()])


def deposit_left(call: Call, places: Mapping[str, torch.Tensor]) -> None:
    """Copy what a call left in its arguments to its places."""
    now = flatten_call(call)[1] if places else {}
    for path, place in places.items():
        value = now.get(path)
        if value is not None:
            _put(place, value)


def _put(place: torch.Tensor, value: torch.Tensor) -> bool:
    value = plain(value)
    if value.shape != place.shape or value.dtype != place.dtype or value.device != place.device:
        return False
    _copy(place, value.detach() if value.requires_grad else value)
    return _address(value) != _address(place) or place.numel() == 0
