"""What was asked for, checked before any process is started; a misspelt name is answered with the nearest ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strop.errors import UnknownName, UsageError
from strop.records.contract import CONTRACTS, Contract
from strop.records.event import Request
from strop.records.opportunity import Legality
from strop.records.workload import Mode
from strop.searches import SHELF as SEARCHES

MODES = ("eager", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_BUDGET = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request in the words of the command line; what is None was not said. ``checked`` turns it into a record."""

    contract: str | None = None
    baselines: Sequence[str] | None = None
    budget: str | float | None = None
    max_memory_ratio: float | None = None
    max_error_ratio: float | None = None
    forbid: Sequence[str] | None = None
    search: str | None = None
    seed: int | None = None
    target: str | None = None
    mode: str | None = None
    store: str | None = None
    suite: str | None = None

    def checked(self, before: Request | None = None) -> Request:
        """The record that the run is made from; what was not said is as in ``before``, else the default.

        Raises:
            UnknownName: a contract, baseline, legality class or search that does not exist.
            UsageError: a budget or ratio that is no positive number.
        """
        base = before or Request(contract=CONTRACTS["fp32"])
        said: dict[str, Any] = {}
        if self.contract is not None:
            said["contract"] = contract_named(self.contract)
        if self.baselines is not None:
            said["baselines"] = _some("baseline", self.baselines, MODES)
        if self.budget is not None:
            said["budget_s"] = budget_s(self.budget)
        if self.max_memory_ratio is not None:
            said["max_memory_ratio"] = _positive("--max-memory-ratio", self.max_memory_ratio)
        if self.max_error_ratio is not None:
            said["max_error_ratio"] = _positive("--max-error-ratio", self.max_error_ratio)
        if self.forbid is not None:
            said["forbid"] = _known("legality class", self.forbid, [each.value for each in Legality])
        if self.search is not None:
            said["search"] = _known("search", [self.search], SEARCHES.names())[0]
        if self.seed is not None:
            said["seed"] = self.seed
        return replace(base, **said)

    def chosen_mode(self) -> Mode | None:
        """The mode that overrules the workload's own, if one was named."""
        if self.mode is None:
            return None
        _known("mode", [self.mode], [each.value for each in Mode])
        return Mode(self.mode)


def contract_named(name: str) -> Contract:
    """One of the contracts."""
    if name not in CONTRACTS:
        raise UnknownName("contract", name, CONTRACTS)
    return CONTRACTS[name]


def budget_s(budget: str | float) -> float:
    """Seconds of ``90s``, ``5m``, ``1h30m`` or a number of seconds.

    Raises:
        UsageError: anything else, or nothing at all.
    """
    if isinstance(budget, int | float):
        return _positive("The budget in seconds", float(budget))
    text = budget.strip().lower().replace(" ", "")
    match = _BUDGET.match(text)
    if not text or match is None:
        hint = f" Did you mean {text}s or {text}m?" if re.fullmatch(r"\d+(\.\d+)?", text) else ""
        raise UsageError(f"'{budget}' is not a budget: write it like 90s, 5m or 1h30m.{hint}")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total_s = 3600 * hours + 60 * minutes + seconds
    if total_s <= 0:
        raise UsageError(f"'{budget}' leaves no time: write a budget like 90s, 5m or 1h30m.")
    return total_s


def _positive(what: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{what} is {value:g}: it must be a number above 0.")
    return value


def _some(kind: str, names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    if not names:
        raise UsageError(f"At least one {kind} is needed: name one of {', '.join(known)}.")
    return _known(kind, names, known)


def _known(kind: str, names: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known)
    return tuple(dict.fromkeys(names))
