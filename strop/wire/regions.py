"""The regions that a recipe replaces, each as a workload of its own: what the parent asks for, and their code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strop.records._base import Record
from strop.records.recipe import Recipe, Step
from strop.records.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRegions(Record):
    """Which parts of the workload's graphs the recipe's steps replace."""

    recipe: Recipe
    target: Target
    ask: Literal["regions"] = "regions"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionCode(Record):
    """One region. ``step`` replaces it, and names no place; ``text`` is a file after the KernelBench convention whose
    inputs and parameters are like those that the region has within the workload.
    """

    step: Step
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsReply(Record):
    """Answer to AskRegions: equal ones once. ``left_out`` says what could not be written down, and why."""

    regions: tuple[RegionCode, ...]
    left_out: tuple[str, ...] = ()
    reply: Literal["regions"] = "regions"
