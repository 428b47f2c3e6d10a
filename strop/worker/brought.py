"""What every road brings: a way to build the module, a way to draw its inputs, and what the user declared about
them.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from strop.errors import BadWorkload
from strop.records.workload import Mode
from strop.worker.guard import foreign
from strop.worker.leaves import Call, flatten_call


@dataclass(frozen=True, kw_only=True)
class Brought:
    """A workload's code, loaded. Whoever calls ``build`` or ``draw`` seeds the generators first.

    ``draw`` is the workload's own generator of inputs; ``varies`` is False when it has but one set of them. ``takes``
    is what is called with them (for its signature). ``init`` is what a replacement of the module is constructed with.
    ``live`` means that the module was in use when it was handed over: the modes of its submodules are its owner's.
    What ``moves`` is made on the host and put on the workload's device; the rest must be made there.
    ``others`` are sets of arguments of other shapes, ``shapes`` and ``any_layout`` what is declared of further ones.
    """

    build: Callable[[], torch.nn.Module]
    draw: Callable[[], Call]
    takes: Callable[..., Any] | None = None
    init: Call = field(default_factory=Call)
    varies: bool = True
    samples: int = 1
    others: Sequence[Sequence[Call]] = ()
    shapes: Any = field(default_factory=dict)
    any_layout: bool = False
    domains: Mapping[str, Any] = field(default_factory=dict)
    accept: Callable[[Any, Any], Any] | None = None
    mode: Mode | None = None
    live: bool = False
    moves: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """How a workload's inputs are made; the fields are those of ``Brought``."""

    draw: Callable[[], Call]
    varies: bool = True
    samples: int = 1
    others: Sequence[Sequence[Call]] = ()
    notes: tuple[str, ...] = ()


def of_samples(samples: Sequence[Call]) -> Inputs:
    """Inputs from sets of arguments: those of the first one's shapes, and those of other shapes, shape by shape. What
    differs from the first in more than its shapes is left out, with a note.
    """
    groups: dict[tuple[torch.Size, ...], list[Call]] = {}
    first, left = _outline(samples[0]), 0
    for sample in samples:
        outline = _outline(sample)
        if [each[:2] for each in outline] == [each[:2] for each in first]:
            groups.setdefault(tuple(size for _, _, size in outline), []).append(sample)
        else:
            left += 1
    own, *others = groups.values()
    note = f"{left} samples are built otherwise than the first, not only of other shapes, and are left out."
    return Inputs(draw=pick(own), varies=len(own) > 1, samples=len(own), others=others, notes=(note,) if left else ())


def _outline(call: Call) -> list[tuple[str, torch.dtype, torch.Size]]:
    _, tensors = flatten_call(call)
    return [(path, tensor.dtype, tensor.shape) for path, tensor in tensors.items()]


def pick(samples: Sequence[Call]) -> Callable[[], Call]:
    """A generator that takes one of several samples at random."""

    def draw() -> Call:
        return samples[random.randrange(len(samples))]

    return draw


def as_module(value: Any, where: str) -> torch.nn.Module:
    """The value as a module; a plain function is wrapped into one without parameters.

    Raises:
        BadWorkload: it cannot be called.
    """
    if isinstance(value, torch.nn.Module):
        return value
    if isinstance(value, type) or not callable(value):
        raise BadWorkload(f"{where} gives a {_kind(value)}: give a torch.nn.Module, built and ready to be called.")
    return FunctionModule(value)


def _kind(value: Any) -> str:
    return f"class ({value.__name__})" if isinstance(value, type) else type(value).__name__


class FunctionModule(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)


def nearest(name: str, known: Sequence[str]) -> str:
    """`` Did you mean 'x'?``, or nothing."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f" Did you mean '{near[0]}'?" if near else ""


def read_mode(value: Any, where: str) -> Mode | None:
    """The mode that a workload declares for itself.

    Raises:
        BadWorkload: it is neither train nor eval.
    """
    if value is None:
        return None
    if value not in tuple(Mode):
        raise BadWorkload(f"{where} is {value!r}: write 'train' or 'eval'.")
    return Mode(value)


def construct(kind: Callable[..., Any], init: Call, what: str) -> Any:
    """Build what the workload's own class stands for."""
    fix = "Check get_init_inputs() against its __init__()."
    with foreign("workload", f"Building {what}", fix):
        return kind(*init.args, **init.kwargs)
