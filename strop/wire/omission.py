"""Leaving operators out of the reference: what the parent asks for, and what it is told about the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strop.records._base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Omit(Record):
    """Like Expect, but the call does without one ``operator``: in place of its results stand ``numbers``, and for the
    first of them the ``operand``, if one is named. Without an operator nothing is left out, and the answer tells which
    ones there are. Reference only.
    """

    slot: int
    operator: int | None = None
    operand: int | None = None
    numbers: tuple[float, ...] = ()
    ask: Literal["omit"] = "omit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(Record):
    """One operator of a call, in the call's order. So many ``operands`` could stand for its first result; ``numbers``
    are the means of its results, and there are none for what only counts.
    """

    name: str
    place: str
    operands: int
    numbers: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted(Record):
    """Answer to Omit."""

    operators: tuple[Operator, ...] = ()
    reply: Literal["omitted"] = "omitted"
