"""Omit: the workload in double precision without one of its operators, to see whether anybody would notice.

What stands in an operator's place is what a candidate could put there that leaves it out: something that the operator
was given and that is as large as its result (a clamp's own input, one of the two terms of a sum), or one number,
whatever the inputs are. The number is the parent's: it was the result's mean on other inputs. Views, copies and fills
compute nothing, so there is nothing to leave out.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from strop.wire.omission import Omit, Omitted, Operator
from strop.worker.gold import Widening, write_answer
from strop.worker.operators import computes, name_of
from strop.worker.session import Session
from strop.worker.spy import arguments
from strop.worker.tensors import is_inexact

_NOT_THE_WORKLOADS = (*torch.__path__, str(Path(__file__).parent), "<")


def omit(session: Session, request: Omit) -> Omitted:
    """Answer for one slot without an operator, or say which operators there are.

    Raises:
        Blamed: the workload's code raises, perhaps for want of the operator.
    """
    oracle = session.oracle
    mode = Omitting(oracle.own, request)
    answer = oracle.answer(session.given.fixed, session.given.slot(request.slot), mode)
    write_answer(answer, session.made.slot(request.slot))
    return Omitted(operators=tuple(mode.operators))


class Omitting(Widening):
    """A dispatch mode that does without one operator; ``operators`` is filled where none is named.

    Args:
        own: the floating type in which the workload computes.
        request: which one, and what stands in its place.
    """

    def __init__(self, own: torch.dtype, request: Omit) -> None:
        super().__init__(own)
        self.operators: list[Operator] = []
        self._request = request
        self._count = 0
        self._names: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Do the operator in double precision; then look at it, or undo what it did."""
        if not isinstance(func, OpOverload):
            return func(*args, **(kwargs or {}))
        wide, named = self.widened(func, args, kwargs or {})
        if not computes(func):
            return func(*wide, **named)
        here, self._count = self._count, self._count + 1
        if self._request.operator not in (None, here):
            return func(*wide, **named)
        # What it writes to is looked at as it was before.
        given = _given(func, wide, named, copied=self._request.operand is not None)
        result = func(*wide, **named)
        made = [each for each in pytree.tree_leaves(result) if isinstance(each, torch.Tensor)]
        if self._request.operator is None:
            self.operators.append(self._seen(func, given, made))
        else:
            self._replace(given, made)
        return result

    def _replace(self, given: Sequence[torch.Tensor], made: Sequence[torch.Tensor]) -> None:
        """The operand stands for the first result; the others are what was computed beside it, and get their number."""
        operand = self._request.operand
        for position, (each, number) in enumerate(zip(made, self._request.numbers, strict=True)):
            if operand is not None and position == 0:
                each.copy_(_fitting(given, each)[operand].reshape(each.shape))
            else:
                each.fill_(_as_value(number, each.dtype))

    def _seen(self, func: Any, given: Sequence[torch.Tensor], made: Sequence[torch.Tensor]) -> Operator:
        name = name_of(func).lstrip("_")
        earlier = self._names[name]
        self._names[name] += 1
        return Operator(
            name=f"{name}_{earlier}" if earlier else name,
            place=_place(),
            operands=len(_fitting(given, made[0])),
            numbers=() if _is_counter(given, made) else tuple(map(_mean, made)),
        )


def _given(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, copied: bool) -> list[torch.Tensor]:
    """The tensors among the arguments, each once; ``copied`` ones if the operator writes to them."""
    found: dict[int, torch.Tensor] = {}
    for argument, value in arguments(func, args, kwargs):
        is_written = argument.alias_info is not None and argument.alias_info.is_write
        for each in pytree.tree_leaves(value):
            if isinstance(each, torch.Tensor):
                found.setdefault(id(each), each.clone() if is_written and copied else each)
    return list(found.values())


def _fitting(given: Sequence[torch.Tensor], result: torch.Tensor) -> list[torch.Tensor]:
    """What could stand in the place of a result, perhaps in another shape: a mean over one element is that element.
    Whole numbers may be indices, and are never exchanged for others that might reach beyond what they point to.
    """
    alike = [each for each in given if each.numel() == result.numel() and each.dtype is result.dtype]
    return alike if is_inexact(result.dtype) else []


def _is_counter(given: Sequence[torch.Tensor], made: Sequence[torch.Tensor]) -> bool:
    """A single whole number made of others, such as how often a batch norm was called."""
    return not any(is_inexact(each.dtype) for each in (*given, *made)) and all(each.numel() == 1 for each in made)


def _mean(values: torch.Tensor) -> float:
    """Of the real part; 0 where there is none."""
    if not values.numel():
        return 0.0
    real = torch.view_as_real(values)[..., 0] if values.is_complex() else values
    mean = float(real.mean(dtype=torch.float64))
    return mean if math.isfinite(mean) else 0.0


def _as_value(number: float, dtype: torch.dtype) -> float | int | bool:
    if dtype is torch.bool:
        return number >= 1 / 2
    return number if is_inexact(dtype) else round(number)


def _place() -> str:
    """The innermost line that is running and is neither torch's nor ours."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_NOT_THE_WORKLOADS):
            return f"line {frame.f_lineno} of {frame.f_code.co_name}()"
        frame = frame.f_back
    return ""
