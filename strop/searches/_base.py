"""What a search is: it yields candidates and is sent what became of each. It never judges, measures or remembers
runs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from strop.records.candidate import Candidate, Origin
from strop.records.decision import Decision
from strop.records.opportunity import Legality, Opportunity, Proposal
from strop.registry import Shelved


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A proposal with what the search must know of its transform."""

    proposal: Proposal
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a search starts from. ``worth_ns`` is the smallest gain that can be told from noise on this workload.

    ``base`` is what the baseline itself does and a candidate has to ask for: every recipe ends with these steps, since
    without them it would have to make up for what the baseline gains by them.
    """

    workload_id: str
    baseline_ns: float
    entries: tuple[Entry, ...]
    opportunities: tuple[Opportunity, ...]
    forbid: frozenset[Legality]
    worth_ns: float
    seed: int
    base: tuple[Entry, ...] = ()


class Search(Shelved):
    """One strategy. The same brief and the same decisions always give the same candidates: that is what makes
    resuming exact.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def candidates(self, brief: Brief) -> Generator[Candidate, Decision, None]:
        """Yield the next candidate; receives its decision by ``send``. Returns when nothing is left that is worth
        trying.
        """
