"""What a call does, seen operator by operator: which draw random numbers, which numbers occur in them, and whether one
of them may choose among equal elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from strop.worker.watching import WatchingMode

MAX_CONSTANTS = 64
_HUGE = 2**63
_NUMBERS = ("number", "float", "Tensor")
_CONVERSIONS = ("aten::_to_copy", "aten::copy", "aten::copy_")
_SWITCHES = ("dropout_p", "dropout", "p", "train", "training")


def arguments(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of (argument of the operator's schema, value) for the arguments that were given."""
    for position, argument in enumerate(func._schema.arguments):
        if position < len(args):
            yield argument, args[position]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]


class Spy(WatchingMode):
    """Watches one call. ``random_ops`` are operators in order of first use, ``numbers`` the finite scalars among
    arguments; ``chooses`` tells whether an operator was seen that may choose among equal elements.
    """

    def __init__(self) -> None:
        super().__init__()
        self.random_ops: dict[str, None] = {}
        self.numbers: dict[float, None] = {}
        self.chooses = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Note what is of interest and go on."""
        kwargs = kwargs or {}
        if not isinstance(func, OpOverload):
            self.chooses = True
            return func(*args, **kwargs)
        if draws_random_numbers(func, args, kwargs):
            self.random_ops[str(func)] = None
        for argument, value in arguments(func, args, kwargs):
            if _is_number(argument, value):
                self.numbers[float(value)] = None
        result = func(*args, **kwargs)
        self.chooses = self.chooses or may_choose(func, (args, kwargs), result)
        return result

    @property
    def constants(self) -> tuple[float, ...]:
        """The numbers, smallest first."""
        return tuple(sorted(self.numbers)[:MAX_CONSTANTS])


def _is_number(argument: Any, value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    if not math.isfinite(value) or abs(value) >= _HUGE:
        return False
    kind = str(argument.type).removeprefix("Optional[").removesuffix("]")
    return kind in _NUMBERS and argument.name not in ("alpha", "beta")


def may_choose(func: Any, given: Any, result: Any) -> bool:
    """True for operators that may name one of several equal elements: those that make integers out of real numbers,
    and not element by element.
    """
    if torch.Tag.pointwise in func.tags or func.is_view or func._schema.name in _CONVERSIONS:
        return False
    reals = any(isinstance(each, torch.Tensor) and each.is_floating_point() for each in pytree.tree_leaves(given))
    return reals and any(
        isinstance(each, torch.Tensor) and not (each.is_floating_point() or each.is_complex())
        for each in pytree.tree_leaves(result)
    )


def draws_random_numbers(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True for operators that use a generator in this very call; dropout with probability zero does not."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return False
    switches = [value for argument, value in arguments(func, args, kwargs) if argument.name in _SWITCHES]
    by_default = [
        argument.default_value
        for argument in func._schema.arguments[len(args) :]
        if argument.name in _SWITCHES and argument.name not in kwargs and argument.has_default_value()
    ]
    found = [*switches, *by_default]
    return not found or all(found)
