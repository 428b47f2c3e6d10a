"""What is loaded to be run: something to call, the module that holds its parameters, and how these are delivered to
it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch

from strop.records.graph import KernelEdit
from strop.wire.tensors import same_bits
from strop.worker.guard import Who, foreign
from strop.worker.opened import Opened
from strop.worker.state import restore

if TYPE_CHECKING:
    from strop.worker.observing import Observed

Tensors = Mapping[str, torch.Tensor]
MatchedBy = Literal["name", "shape", "seed"]

_clock = time.perf_counter


@dataclass(slots=True, kw_only=True)
class Runner:
    """``who`` is blamed for what it raises. ``again`` builds a second instance, ``recompile`` one whose compilation
    is observed. ``edits`` tells, once it was called, how generated kernels were changed. ``names`` says, after a
    delivery, which of the workload's parameters and buffers went into which of the module's own.
    """

    call: Callable[..., Any]
    module: torch.nn.Module | None
    who: Who
    doing: str
    again: Callable[[], Runner] | None = None
    repack: Callable[[], None] | None = None
    recompile: Callable[[Mapping[str, Any]], Observed] | None = None
    edits: Callable[[], tuple[KernelEdit, ...]] | None = None
    is_workload: bool = False
    last_result: Any = None
    resources: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How a delivery went: see the wire's Delivered."""

    matched_by: MatchedBy
    missing: tuple[str, ...]
    setup_s: float


def deliver(opened: Opened, runner: Runner, fixed: Tensors) -> Delivery:
    """Copy parameters and buffers into the runner's module, and do again what it had computed from them.

    They are matched by name; what is left over by its place among those of the same shape and type, where both sides
    have equally many; the rest can only have come from the construction seed.
    """
    if runner.module is None:
        return Delivery(matched_by="name", missing=(), setup_s=0.0)
    own = _own(runner.module)
    names, by_name = _by_name(own, fixed), True
    if len(names) < len(fixed):
        names = _by_tie(opened, own, fixed, names)
    if len(names) < len(fixed):
        extra = _by_shape(own, fixed, names)
        names |= extra
        by_name = not extra
    with torch.no_grad(), foreign(runner.who, "Taking its parameters"):
        for given, mine in names.items():
            # Past the counter of versions, as whoever writes through another pointer does.
            own[mine].data.copy_(fixed[given])
    runner.names = names
    missing = _missing(opened, fixed, names)
    started = _clock()
    if runner.repack is not None:
        with foreign(runner.who, "Its set-up after a delivery of parameters"), torch.no_grad():
            runner.repack()
    matched: MatchedBy = "seed" if missing else "name" if by_name else "shape"
    return Delivery(matched_by=matched, missing=missing, setup_s=_clock() - started)


def _own(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Everything under every name it has; tied parameters have several."""
    named = dict(module.named_parameters(remove_duplicate=False))
    return named | dict(module.named_buffers(remove_duplicate=False))


def _by_name(own: Tensors, fixed: Tensors) -> dict[str, str]:
    return {name: name for name, value in fixed.items() if name in own and own[name].shape == value.shape}


def _by_tie(opened: Opened, own: Tensors, fixed: Tensors, names: Mapping[str, str]) -> dict[str, str]:
    """The workload itself may know a tied tensor under a second name, which is the one that the candidate kept."""
    theirs = _own(opened.module)
    found = dict(names)
    for name in fixed:
        if name in found or name not in theirs:
            continue
        for other, tensor in theirs.items():
            if tensor is theirs[name] and other in own and own[other].shape == tensor.shape:
                found[name] = other
    return found


def _by_shape(own: Tensors, fixed: Tensors, names: Mapping[str, str]) -> dict[str, str]:
    taken = {id(own[name]) for name in names.values()}
    free: dict[tuple[torch.Size, torch.dtype], list[str]] = {}
    for name, tensor in own.items():
        if id(tensor) not in taken:
            taken.add(id(tensor))
            free.setdefault((tensor.shape, tensor.dtype), []).append(name)
    wanted: dict[tuple[torch.Size, torch.dtype], list[str]] = {}
    for name, tensor in fixed.items():
        if name not in names:
            wanted.setdefault((tensor.shape, tensor.dtype), []).append(name)
    return {
        given: mine
        for key, group in wanted.items()
        if len(group) == len(free.get(key, []))
        for given, mine in zip(group, free[key], strict=True)
    }


def _missing(opened: Opened, fixed: Tensors, names: Mapping[str, str]) -> tuple[str, ...]:
    """What could not be delivered and is ever drawn anew: parameters and running statistics, not tables and
    counters.
    """
    left = [name for name in fixed if name not in names]
    if not left:
        return ()
    parameters = {name for name, _ in opened.module.named_parameters()}
    return tuple(name for name in left if name in parameters or is_running_statistic(name))


def is_running_statistic(name: str) -> bool:
    """True for the moving averages of normalisation layers."""
    return name.rpartition(".")[2] in ("running_mean", "running_var")


def restore_buffers(runner: Runner, fixed: Tensors) -> None:
    """Put the delivered buffers back, so that every run starts from the same state."""
    if runner.module is None:
        return
    buffers = dict(runner.module.named_buffers(remove_duplicate=False))
    wanted = {mine: fixed[given] for given, mine in runner.names.items() if mine in buffers}
    restore(runner.module, {name: value.to(buffers[name].dtype) for name, value in wanted.items()})


def changed_parameters(runner: Runner, fixed: Tensors, updated: frozenset[str]) -> tuple[str, ...]:
    """Delivered parameters and buffers whose bits have moved, but for the buffers that the workload itself updates."""
    if runner.module is None:
        return ()
    own = _own(runner.module)
    return tuple(
        given
        for given, mine in runner.names.items()
        if given not in updated and (mine not in own or not same_bits(own[mine], fixed[given].to(own[mine].dtype)))
    )


def buffers_by_given_name(runner: Runner) -> dict[str, torch.Tensor]:
    """The module's buffers under the workload's names."""
    if runner.module is None:
        return {}
    own = _own(runner.module)
    return {given: own[mine] for given, mine in runner.names.items() if mine in own}
