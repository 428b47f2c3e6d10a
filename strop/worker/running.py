"""Run: one judged run. Results and touched state are copied out; what the results are is reported as it was found."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from strop.records.workload import Leaf
from strop.wire.messages import Ran, Run
from strop.wire.tensors import same_bits
from strop.worker.circumstances import Outcome, perform
from strop.worker.guard import foreign
from strop.worker.leaves import flatten_call, left_behind, tensors_in
from strop.worker.rounds import STATE_BUFFERS, STATE_INPUTS, deposit, deposit_left, left_of, outputs_of
from strop.worker.runner import buffers_by_given_name, changed_parameters
from strop.worker.session import Session
from strop.worker.tensors import plain, spec_of

Tensors = Mapping[str, torch.Tensor]


def run(session: Session, request: Run) -> Ran:
    """Run what is loaded on one slot's inputs.

    Raises:
        Blamed: it raises, or its results cannot even be looked at.
    """
    outcome = perform(session, request.slot, request.circumstance)
    made = session.made.slot(request.slot)
    runner = outcome.runner
    with foreign(runner.who, "Copying its results"), torch._C.DisableTorchFunctionSubclass():
        found = tensors_in(outcome.result, "out") | _left(session, outcome, left_of(made))
        outputs = {path: plain(tensor) for path, tensor in found.items()}
        leaves = tuple(Leaf(path=path, tensor=spec_of(tensor, path)) for path, tensor in outputs.items())
        own = {path: tensor for path, tensor in outputs.items() if tensor is not outcome.inputs.get(path)}
        aliases = session.watch.aliases(outcome.inputs, own)
        session.watch.remember(outputs)
        deposit(outcome.result, outputs_of(made))
        deposit_left(outcome.call, left_of(made))
    _deposit_state(outcome, made)
    updated = frozenset(path.removeprefix(STATE_BUFFERS) for path in made if path.startswith(STATE_BUFFERS))
    changed = changed_parameters(runner, session.given.fixed, updated)
    return Ran(outputs=leaves, aliases=aliases, changed_parameters=changed)


def _left(session: Session, outcome: Outcome, places: Tensors) -> dict[str, torch.Tensor]:
    """What lies where the workload puts tensors into its arguments, then whatever else has changed in them."""
    now = flatten_call(outcome.call)[1] if places else {}
    wanted = {path: now[path] for path in places if path in now}
    new = left_behind(outcome.call, session.opened.shape, outcome.inputs)
    other = {path: each for path, each in new.items() if path not in places and not _is_given(path, each, outcome)}
    return wanted | other


def _is_given(path: str, tensor: torch.Tensor, outcome: Outcome) -> bool:
    """A copy of what was given, put in its place, changes nothing for the caller."""
    given = outcome.inputs.get(path)
    return given is not None and same_bits(given, tensor)


def _deposit_state(outcome: Outcome, made: Tensors) -> None:
    buffers = buffers_by_given_name(outcome.runner)
    for path, place in made.items():
        value = None
        if path.startswith(STATE_INPUTS):
            value = outcome.inputs.get(path.removeprefix(STATE_INPUTS))
        elif path.startswith(STATE_BUFFERS):
            value = buffers.get(path.removeprefix(STATE_BUFFERS))
        if value is not None and value.shape == place.shape and value.dtype == place.dtype:
            place.copy_(value.detach())
