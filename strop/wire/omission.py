"""Leaving operators out of the reference: what the parent asks for, and what it is told about the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strop.records._base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Omit(Record):
    """Like Expect, but the call does without one ``operator``: in its place stands one of what it is given, the
    ``operand`` of this number, or else one number for each of its results. Without an operator nothing is left out, and
    the answer tells which ones there are. Reference only.
    """

    slot: int
    operator: int | None = None
    operand: int | None = None
    numbers: tuple[float, ...] = ()
    ask: Literal["omit"] = "omit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(Record):
    """One operator of a call, in the call's order. So many ``operands`` have the shape of a result; ``numbers`` are the
    means of its results.
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
