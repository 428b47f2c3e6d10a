"""From what was typed to the record of a workload."""

from __future__ import annotations

from pathlib import Path

from strop.records.workload import Mode, Workload
from strop.sources.suite import find_problem, names_problem
from strop.sources.workload import file_workload, read_workload
from strop.wiring import Home, keep_text


def workload_named(typed: str, house: Home, device: str, mode: Mode | None, suite: str | None) -> Workload:
    """WORKLOAD in any of its forms; a problem of a suite becomes a file of its own below the home.

    Raises:
        BadWorkload: it does not exist or lacks what a workload needs; the message holds the shortest fix.
        UsageError: no suite is configured.
    """
    if not names_problem(typed):
        return read_workload(typed, mode=mode, device=device)
    problem = find_problem(typed, suite or house.settings.kernelbench)
    path = keep_text(house, f"level{problem.level}_{problem.name}", problem.text)
    return file_workload(typed, Path(path), "Model", mode=mode, device=device)
