"""Describe: run the workload on its own inputs and say what it is made of, without a single value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from strop.errors import BadWorkload
from strop.records.workload import Description, Domain, Leaf
from strop.wire.tensors import same_bits
from strop.worker.calls import argument_names
from strop.worker.domains import declared_domains, learn_domains
from strop.worker.draws import own_draw
from strop.worker.guard import Blamed
from strop.worker.leaves import Tree, flatten, left_behind
from strop.worker.modes import seeded
from strop.worker.opened import Opened, private
from strop.worker.own_code import own_code
from strop.worker.spy import Spy
from strop.worker.state import changed, restore, snapshot
from strop.worker.tensors import is_inexact, memory_of, share_memory, spec_of, writable_spec
from strop.worker.varying import claimed

Tensors = Mapping[str, torch.Tensor]

OWN_DRAWS = 3
"""Draws of the workload's own generator from which domains are learned."""
_SEED = 7


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The description, and what only the reference child keeps: the structure of the results."""

    description: Description
    outputs: Tree


@dataclass(frozen=True, kw_only=True)
class _Seen:
    tree: Tree
    outputs: dict[str, torch.Tensor]
    inputs: dict[str, torch.Tensor]
    mutates: tuple[str, ...]
    updates: tuple[str, ...]
    parameters: tuple[str, ...]
    raw: Any


def describe(opened: Opened) -> Reference:
    """Call the workload on its own inputs, and a few times more to learn what its inputs may be.

    Raises:
        BadWorkload: it makes NaN, returns no tensor, or declares domains or shapes of unknown inputs.
        Blamed: its code raises.
    """
    module = opened.module
    spy = Spy()
    first, second = _observe_twice(opened, spy)
    draws, notes = _own_draws(opened)
    names = argument_names(opened.brought.takes, len(opened.sample) + 32)
    declared = declared_domains(opened.brought.domains, opened.shape.paths, names)
    domains = learn_domains(draws, declared, lambda inputs: _copes(opened, inputs))
    inputs = _inputs(first, domains)
    description = Description(
        parameters=_leaves(dict(module.named_parameters())),
        buffers=_leaves(dict(module.named_buffers())),
        inputs=inputs,
        outputs=_leaves(first.outputs),
        mutates=first.mutates,
        updates=first.updates,
        aliases=_aliases(first, second),
        random_ops=tuple(spy.random_ops),
        constants=spy.constants,
        chooses=spy.chooses,
        samples=opened.brought.samples,
        structure=first.tree.text,
        has_acceptance=opened.brought.accept is not None,
        mode=opened.mode,
        notes=(*opened.brought.notes, *notes, *_notes(first, second, spy)),
        code=own_code(opened.workload.source.import_path),
        other_samples=len(opened.brought.others),
        claims=claimed(opened.brought.shapes, inputs, names),
        any_layout=opened.brought.any_layout,
    )
    return Reference(description=description, outputs=first.tree)


def describe_variant(opened: Opened, own: Reference) -> Reference:
    """The same of inputs of another shape or layout; what values mean and what the graph holds is known.

    Raises:
        BadWorkload: it makes NaN, or results of another structure.
        Blamed: its code raises.
    """
    first, second = _observe_twice(opened, None)
    known = own.description
    if tuple(first.outputs) != tuple(leaf.path for leaf in known.outputs):
        raise BadWorkload("It returns results of another structure there.")
    description = replace(
        known,
        inputs=_inputs(first, {leaf.path: leaf.domain for leaf in known.inputs}),
        outputs=_leaves(first.outputs),
        mutates=first.mutates,
        updates=first.updates,
        aliases=_aliases(first, second),
        notes=(),
    )
    return Reference(description=description, outputs=first.tree)


def _observe_twice(opened: Opened, spy: Spy | None) -> tuple[_Seen, _Seen]:
    sample = opened.fresh_sample()
    first = _observe(opened, sample, spy)
    second = _observe(opened, sample, None)
    _refuse_nan(first.outputs)
    return first, second


def _inputs(seen: _Seen, domains: Mapping[str, Domain | None]) -> tuple[Leaf, ...]:
    return tuple(
        Leaf(path=path, tensor=spec_of(tensor, path), domain=domains[path]) for path, tensor in seen.inputs.items()
    )


def _observe(opened: Opened, sample: Tensors, spy: Spy | None) -> _Seen:
    """One call on private copies; the module's buffers are put back afterwards."""
    module = opened.module
    inputs = {path: private(tensor) for path, tensor in sample.items()}
    buffers = snapshot(module)
    parameters = {name: each.detach().clone() for name, each in module.named_parameters()}
    call = opened.shape.build(inputs)
    with seeded(_SEED), spy or nullcontext():
        raw = opened.call_with(module, call)
    tree, tensors = flatten(raw, "out")
    moved = tuple(name for name, each in module.named_parameters() if not same_bits(each, parameters[name]))
    updates = changed(module, buffers)
    restore(module, buffers)
    restore_parameters(module, parameters, moved)
    return _Seen(
        tree=tree,
        outputs=dict(zip(tree.paths, tensors, strict=True)) | left_behind(call, opened.shape, inputs),
        inputs=inputs,
        mutates=tuple(path for path, tensor in inputs.items() if not same_bits(tensor, sample[path])),
        updates=updates,
        parameters=moved,
        raw=raw,
    )


def restore_parameters(module: torch.nn.Module, saved: Tensors, names: Sequence[str]) -> None:
    """Put back the named parameters."""
    now = dict(module.named_parameters())
    with torch.no_grad():
        for name in names:
            now[name].copy_(saved[name])


def _refuse_nan(outputs: Tensors) -> None:
    if not outputs:
        raise BadWorkload("The model returns no tensor: make forward() return what is to be computed.")
    broken = [path for path, tensor in outputs.items() if _has_nan(tensor)]
    if broken:
        raise BadWorkload(
            f"The model makes NaN from its own inputs (in {', '.join(broken)}): mend the model, or have get_inputs() "
            "return inputs on which it is defined."
        )


def _has_nan(tensor: torch.Tensor) -> bool:
    return is_inexact(tensor.dtype) and bool(torch.isnan(tensor).any())


def _own_draws(opened: Opened) -> tuple[list[Tensors], tuple[str, ...]]:
    if not opened.brought.varies:
        return [opened.sample], ("The workload brings one set of inputs; own draws are permutations of its values.",)
    return [opened.sample, *(own_draw(opened, seed) for seed in range(1, OWN_DRAWS))], ()


def _copes(opened: Opened, inputs: Tensors) -> bool:
    """Whether the workload answers without raising and without NaN."""
    module = opened.module
    buffers = snapshot(module)
    copies = {path: private(tensor) for path, tensor in inputs.items()}
    try:
        with seeded(_SEED):
            raw = opened.call(module, copies)
    except Blamed:
        return False
    finally:
        restore(module, buffers)
    return not any(_has_nan(tensor) for tensor in flatten(raw, "out")[1])


def _leaves(tensors: Tensors) -> tuple[Leaf, ...]:
    return tuple(Leaf(path=path, tensor=writable_spec(tensor, path)) for path, tensor in tensors.items())


def _aliases(first: _Seen, second: _Seen) -> tuple[str, ...]:
    """Outputs that share memory with an input, or with the same call's outputs a moment earlier."""
    inputs = [memory_of(tensor) for tensor in first.inputs.values()]
    later = [memory_of(tensor) for tensor in second.outputs.values()]
    others = [*inputs, *later]
    return tuple(
        path
        for path, tensor in first.outputs.items()
        if any(share_memory(memory_of(tensor), other) for other in others)
    )


def _notes(first: _Seen, second: _Seen, spy: Spy) -> tuple[str, ...]:
    notes: list[str] = []
    if first.tree.paths != second.tree.paths:
        notes.append("The structure of the results differs from call to call.")
    elif not spy.random_ops and not all(same_bits(first.outputs[p], second.outputs[p]) for p in first.tree.paths):
        notes.append("Two calls on the same inputs gave different bits, although no operator draws random numbers.")
    if first.parameters:
        notes.append(f"The model changes its own parameters when it is called: {', '.join(first.parameters)}.")
    return tuple(notes)
