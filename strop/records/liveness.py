"""What could be left out of a workload without anybody noticing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from strop.records._base import Record


class PartKind(StrEnum):
    """What a part is: an operator of the call, or a tensor that the module owns."""

    OPERATOR = "operator"
    PARAMETER = "parameter"
    BUFFER = "buffer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Record):
    """Something that a workload is made of. Operators are counted by name in the order of the call (``relu``,
    ``relu_1``), and ``place`` is the line of the workload's code at which they run.
    """

    kind: PartKind
    name: str
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Liveness(Record):
    """Which parts a candidate could do without and pass: ``dead`` ones in every case of a full judgement, ``own_only``
    ones under the workload's own inputs and parameters alone. ``unsettled`` ones were dead as far as it was tried.

    Of all ``parts`` so many were ``looked_at``; ``because`` says why not all of them, or why some are unsettled.
    """

    dead: tuple[Part, ...] = ()
    own_only: tuple[Part, ...] = ()
    unsettled: tuple[Part, ...] = ()
    parts: int = 0
    looked_at: int = 0
    because: str = ""
