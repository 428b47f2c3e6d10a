"""How far a candidate's answers lie from the exact ones, beside everybody else's."""

from __future__ import annotations

from dataclasses import dataclass

from strop.records._base import Record
from strop.records.evidence import Distribution, ErrorQuantiles


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow(Record):
    """The errors of one output against fp64 for one kind of inputs: of candidate and baseline, of honest rounding at
    the contract's precision, and what is allowed.
    """

    distribution: Distribution
    parameters_draw: int
    path: str
    candidate: ErrorQuantiles
    baseline: ErrorQuantiles
    honest: ErrorQuantiles
    allowed: ErrorQuantiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Record):
    """All rows, and the precisions below the contract's that a candidate's errors look like (names of contracts; none
    for an honest one). ``because`` says why there are no more rows, where something ended them.
    """

    rows: tuple[ErrorRow, ...] = ()
    looks_like: tuple[str, ...] = ()
    because: str = ""
