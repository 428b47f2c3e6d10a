"""What a check is: a judge of one kind of evidence at one stage of the cascade."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from strop.records.contract import Contract
from strop.records.evidence import Evidence, Stage
from strop.records.verdict import Finding
from strop.registry import Shelved


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the judge was told: the contract, the factor by which errors may exceed the larger of baseline and honest
    rounding, and how far above the baseline's alone they may be for a candidate to be kept.
    """

    contract: Contract
    error_factor: float = 2.0
    max_error_ratio: float = 2.0
    forbid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Evidence and the outcome that the check must give on it: documentation and test at once."""

    says: str
    evidence: Evidence
    outcome: str


class Check(Shelved):
    """One judge. A file on the shelf ends with ``ITEM = <subclass>()``.

    ``stages`` are the steps at which it is asked, ``judges`` the evidence it understands; it is asked about each such
    piece of evidence.
    ``only_notes`` checks may never fail a candidate: what they find is printed beside the verdict.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    stages: ClassVar[tuple[Stage, ...]]
    judges: ClassVar[type[Any] | tuple[type[Any], ...]]
    only_notes: ClassVar[bool] = False
    examples: ClassVar[tuple[Example, ...]]

    @abstractmethod
    def judge(self, evidence: Any, rules: Rules) -> Finding:
        """Say what the evidence shows; Inconclusive when it does not suffice."""
