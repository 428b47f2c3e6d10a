"""Where a proposal could win, and what the catalogue proposes there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from strop.records._base import Record
from strop.records.graph import Region
from strop.records.profile import Bound
from strop.records.recipe import Step


class Legality(StrEnum):
    """Why a rewrite is allowed; every transform declares its classes, the report shows them, the user can forbid
    them.
    """

    BIT_EXACT = "bit_exact"
    REASSOCIATED = "reassociated"
    EMULATED = "emulated"
    WORK_REMOVED = "work_removed"
    PARAMETERS_FROZEN = "parameters_frozen"
    FINITE_INPUTS = "finite_inputs"
    LOWER_PRECISION = "lower_precision"


class Origin(StrEnum):
    """Who proposed; scored apart. ``compiler`` is nothing but what a user could have switched on."""

    CATALOGUE = "catalogue"
    AGENT = "agent"
    HUMAN = "human"
    COMPILER = "compiler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opportunity(Record):
    """A region with its share of the time, its bound and its headroom against the target's ceilings."""

    region: Region
    kernels: tuple[str, ...]
    share: float
    time_ns: float
    bound: Bound
    headroom_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRange(Record):
    """One tunable argument of a transform and the values it may take, the first being the default."""

    name: str
    choices: tuple[bool | int | float | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Record):
    """One place where a transform applies: the step that does it, what it replaces, what it should win, who says so."""

    step: Step
    region: Region
    legality: tuple[Legality, ...]
    gain_ns: float
    parameters: tuple[ParameterRange, ...] = ()
    origin: Origin = Origin.CATALOGUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Decline(Record):
    """Why a transform does not apply to this workload, as a sentence."""

    transform: str
    because: str
