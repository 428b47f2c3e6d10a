"""Edited kernels launched alone: what the parent asks for, and how long each took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strop.records._base import Record
from strop.records.recipe import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class AskLaunches(Record):
    """How long each of several edits of generated kernels takes, alone on the arguments that the workload gives it and
    with nothing left in caches of ``cache_bytes``, and whether it leaves there what the compiler's own version leaves;
    without memory for copies of the arguments that is not looked at. What is not reached within ``limit_s`` seconds is
    left out.
    """

    steps: tuple[Step, ...]
    cache_bytes: int
    limit_s: float
    ask: Literal["launches"] = "launches"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchTime(Record):
    """What one edit of a kernel takes per launch beside the compiler's own version, each alone; ``because`` says why it
    could not be launched or what else it left, and then both times are 0.
    """

    step: Step
    time_ns: float = 0.0
    own_ns: float = 0.0
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchesReply(Record):
    """Answer to AskLaunches, in the order of the steps."""

    times: tuple[LaunchTime, ...]
    reply: Literal["launches"] = "launches"
