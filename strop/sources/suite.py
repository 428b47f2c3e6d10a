"""Suites of workloads: where ``kernelbench:LEVEL/ID`` finds its text, in a checkout or in JSONL files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strop.errors import BadWorkload, UsageError
from strop.settings import at_home
from strop.sources.text import is_there

_NAME = re.compile(r"kernelbench:(\d+)/(\d+)\Z")
HOW = "Name a KernelBench checkout, a folder of level*.jsonl or one JSONL file with --suite PATH or STROP_KERNELBENCH."


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem of the suite: its numbers, its name and its text."""

    level: int
    problem_id: int
    name: str
    text: str


def names_problem(typed: str) -> bool:
    """True when a WORKLOAD refers to the suite."""
    return typed.startswith("kernelbench:")


def find_problem(typed: str, suite: str) -> Problem:
    """Look up ``kernelbench:LEVEL/ID``.

    Raises:
        UsageError: no suite is named, or it is not one.
        BadWorkload: the name has another form, or the suite has no such problem.
    """
    match = _NAME.match(typed)
    if match is None:
        raise BadWorkload(f"'{typed}' is not a problem: write kernelbench:LEVEL/ID, such as kernelbench:1/19.")
    if not suite:
        raise UsageError(f"'{typed}' needs a suite. {HOW}")
    level, problem_id = int(match.group(1)), int(match.group(2))
    root = at_home(suite, "--suite or STROP_KERNELBENCH")
    if not is_there(root):
        raise UsageError(f"There is no suite at '{suite}'. {HOW}")
    problem = _in_file(root, level, problem_id) if root.is_file() else _in_folder(root, level, problem_id)
    if problem is None:
        raise BadWorkload(f"The suite at {suite} has no problem {problem_id} on level {level}.")
    return problem


def _in_folder(root: Path, level: int, problem_id: int) -> Problem | None:
    lines = sorted(root.glob("*.jsonl"))
    if lines:
        found = (_in_file(path, level, problem_id) for path in lines)
        return next((problem for problem in found if problem is not None), None)
    base = next((each for each in (root / "KernelBench", root) if any(each.glob("level*"))), None)
    if base is None:
        raise UsageError(f"'{root}' is no suite: it holds neither KernelBench/level1 nor level*.jsonl. {HOW}")
    for path in sorted((base / f"level{level}").glob(f"{problem_id}_*.py")):
        return Problem(level=level, problem_id=problem_id, name=path.stem, text=_text(path))
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise UsageError(f"'{path}' cannot be read: {fault.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"'{path}' is not UTF-8 text: save it as UTF-8.") from None


def _in_file(path: Path, level: int, problem_id: int) -> Problem | None:
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        row = _row(path, number, line)
        if row["level"] == level and row["problem_id"] == problem_id:
            return Problem(level=level, problem_id=problem_id, name=str(row["name"]), text=str(row["code"]))
    return None


def _row(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as fault:
        raise UsageError(f"{path}, line {number} is not JSON: {fault.msg}.") from None
    missing = [key for key in ("level", "problem_id", "name", "code") if not isinstance(row, dict) or key not in row]
    if missing:
        raise UsageError(f"{path}, line {number} lacks {', '.join(missing)}: each line needs all four keys.")
    return row
