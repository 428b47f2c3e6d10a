"""Many candidates, judged for right or wrong as a list says, several workloads side by side; said again, it goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from strop.api.asking import Asked
from strop.api.candidates import candidate_named
from strop.api.judging import Ruling, rulings
from strop.api.workloads import workload_named
from strop.errors import StropError, UsageError
from strop.records.candidate import Candidate
from strop.records.ids import content_id
from strop.records.workload import Workload
from strop.report.jsons import Json, verdict_json
from strop.sources.text import read_bytes
from strop.wiring import Home, Say, calibrated, find_kind, home_of, silent

REFUSED = "refused"
"""The verdict on what could not be read or loaded, so that nothing was judged."""
KEYS = ("workload", "candidate", "name", "contract", "mode")
EXIT_CODES = {REFUSED: 2, "failed": 1, "inconclusive": 3, "passed": 0}
"""Of the whole: that of the first of these verdicts which occurs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a manifest; ``name`` is how its row is called."""

    name: str
    workload: str
    candidate: str
    contract: str | None = None
    mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An entry with what it names; ``key`` is the same for the same contents under the same promise."""

    entry: Entry
    workload: Workload
    candidate: Candidate
    asked: Asked
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The rows in the order of the manifest; ``known`` of them were judged before."""

    rows: tuple[Json, ...]
    known: int = 0
    counts: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def exit_code(self) -> int:
        """2 when something was refused, else 1 when something failed, else 3 for inconclusive, else 0."""
        return next((EXIT_CODES[verdict] for verdict in EXIT_CODES if self.counts.get(verdict)), 0)


def read_manifest(path: Path) -> list[Entry]:
    """The entries of a file with one JSON object a line. Paths in it count from its own folder.

    Raises:
        UsageError: it cannot be read, or a line is not what it should be.
    """
    # A text may hold what else ends a line for Python.
    lines = read_bytes(path, UsageError).decode("utf-8", errors="replace").split("\n")
    entries = [_entry(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not entries:
        raise UsageError(
            f'{path} names nothing to judge: write lines like {{"workload": "a.py", "candidate": "b.py"}}.'
        )
    return entries


def _entry(path: Path, number: int, line: str) -> Entry:
    where = f"Line {number} of {path}"
    try:
        found = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where} is no JSON ({error}): write one object a line.") from None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise UsageError(f"{where} is no object of texts: write {', '.join(KEYS)} as texts.")
    unknown = sorted(set(found) - set(KEYS))
    missing = [name for name in KEYS[:2] if not found.get(name)]
    if unknown or missing:
        what = f"has the unknown key {unknown[0]!r}" if unknown else f"does not say which {missing[0]}"
        raise UsageError(f"{where} {what}: a line takes {', '.join(KEYS)}, the first two always.")
    given: dict[str, str] = {"name": f"line {number}", **found}
    for name in KEYS[:2]:
        given[name] = _from_its_folder(path.parent, given[name])
    return Entry(**given)


def _from_its_folder(folder: Path, typed: str) -> str:
    """A path as it is from here; a recipe, a problem of a suite and a factory stay what they are."""
    file, found, rest = typed.partition(":")
    # Unlike its method of this name, it raises nothing when a recipe is too long for the name of a file.
    return f"{folder / file}{found}{rest}" if os.path.isfile(folder / file) else typed


def verify_manifest(path: Path, asked: Asked, *, jobs: int, out: Path | None = None, say: Say = silent) -> Verified:
    """Judge every entry that ``out`` has no row of; each row is appended there as soon as it is known. Candidates of
    one workload share its reference's answers; ``jobs`` workloads are judged at once, each by a process of its own.

    Raises:
        UsageError: the manifest or the file of rows cannot be read, or ``jobs`` is below one.
    """
    if jobs < 1:
        raise UsageError(f"--jobs is {jobs}: it must be 1 or more.")
    asked.checked()
    home, entries = home_of(), read_manifest(path)
    known = {key: row for key, row in _rows_of(out).items() if row["verdict"] != REFUSED}
    rows: dict[int, Json] = {}
    cases: dict[int, Case] = {}
    for number, entry in enumerate(entries):
        found = _case(home, entry, asked)
        if isinstance(found, Case):
            cases[number] = found
            if found.key in known:
                rows[number] = known[found.key] | {"name": entry.name}
        else:
            rows[number] = found
    done = len([number for number in rows if number in cases])
    todo = {number: case for number, case in cases.items() if number not in rows}
    groups: dict[tuple[str, Asked], list[Case]] = {}
    # What is listed twice is judged once, under its first name.
    once: dict[str, Case] = {}
    for case in todo.values():
        once.setdefault(case.key, case)
    for case in once.values():
        groups.setdefault((case.workload.id, case.asked), []).append(case)
    say(f"{len(entries)} entries, {done} judged before, {len(todo)} to be judged on {len(groups)} workloads")
    judge = _apart if jobs > 1 and len(groups) > 1 else _here
    with tempfile.TemporaryDirectory(prefix="strop-") as folder:
        into = out or Path(folder) / "rows.jsonl"
        _begin_line(into)
        judge(home, list(groups.values()), into, jobs, say)
        new = _rows_of(into)
    rows |= {number: new[case.key] | {"name": case.entry.name} for number, case in todo.items()}
    ordered = tuple(rows[number] for number in range(len(entries)))
    verdicts = [row["verdict"] for row in ordered]
    return Verified(rows=ordered, known=done, counts={verdict: verdicts.count(verdict) for verdict in EXIT_CODES})


def _case(home: Home, entry: Entry, asked: Asked) -> Case | Json:
    """What an entry names, or the row that says why it names nothing."""
    mine = replace(asked, contract=entry.contract or asked.contract, mode=entry.mode or asked.mode)
    try:
        request, kind = mine.checked(), find_kind(mine.target)
        workload = workload_named(entry.workload, home, kind.device, mine.chosen_mode(), mine.suite)
        candidate = candidate_named(entry.candidate, workload)
    except StropError as error:
        return _refused(entry.name, str(error))
    key = content_id("v", workload.id, candidate.id, request.contract.name, mine.mode or "", kind.name)
    return Case(entry=entry, workload=workload, candidate=candidate, asked=mine, key=key)


def _refused(name: str, because: str, key: str | None = None) -> Json:
    return {"schema": 1, "name": name, "key": key, "verdict": REFUSED, "because": because}


def _rows_of(out: Path | None, since: int = 0) -> dict[str, Json]:
    """By key the last row of each, of what was written after so many bytes. A line that was cut off when a run was
    killed counts for nothing.
    """
    if out is None or not out.exists():
        return {}
    rows: dict[str, Json] = {}
    for line in read_bytes(out, UsageError)[since:].decode("utf-8", errors="replace").splitlines():
        try:
            row: Any = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict) or "verdict" not in row:
            raise UsageError(f"{out} holds something else than rows of a manifest: name another file with --out.")
        if row.get("key"):
            rows[row["key"]] = row
    return rows


def _begin_line(out: Path) -> None:
    """A line that was cut off must not swallow the next one; and what cannot be written is known before all work."""
    try:
        with out.open("a+b") as file:
            if file.tell() and not read_bytes(out, UsageError).endswith(b"\n"):
                file.write(b"\n")
    except OSError as error:
        raise UsageError(f"No rows can be written to {out} ({error.strerror}): name another file with --out.") from None


def _here(home: Home, groups: Sequence[Sequence[Case]], out: Path, jobs: int, say: Say) -> None:
    """In this process, one workload after the other."""
    for cases in groups:
        for case, row in zip(cases, _judged(home, cases, say), strict=True):
            say(f"{case.entry.name}: {row['verdict']}")
            _append(out, {"name": case.entry.name, "key": case.key} | row)


def _append(out: Path, row: Json) -> None:
    # One write of a whole line: several processes append to the same file.
    with out.open("ab", buffering=0) as file:
        file.write(f"{json.dumps(row)}\n".encode())


def _judged(home: Home, cases: Sequence[Case], say: Say) -> Iterator[Json]:
    """A row for each; what ends the workload is the verdict on all that are left."""
    first = cases[0]
    left = list(cases)
    try:
        target = calibrated(find_kind(first.asked.target), home.settings, say)
        candidates = [case.candidate for case in cases]
        for ruling in rulings(home, first.workload, candidates, target, first.asked, say):
            left.pop(0)
            yield _row(ruling)
    except StropError as error:
        inconclusive = error.exit_code == EXIT_CODES["inconclusive"]
        for case in left:
            row = _refused(case.entry.name, str(error), case.key)
            yield row | ({"verdict": "inconclusive"} if inconclusive else {})


def _row(ruling: Ruling) -> Json:
    return verdict_json(ruling.verdict, ruling.workload, ruling.target, ruling.contract, None, ruling.mode)


def _apart(home: Home, groups: Sequence[Sequence[Case]], out: Path, jobs: int, say: Say) -> None:
    """Each workload in a process of its own, so many at once."""
    with tempfile.TemporaryDirectory(prefix="strop-") as folder, ThreadPoolExecutor(max_workers=jobs) as threads:
        begun = [threads.submit(_process, cases, Path(folder) / f"{n}.jsonl", out) for n, cases in enumerate(groups)]
        try:
            for number, ended in enumerate(begun, 1):
                ended.result()
                say(f"{number} of {len(begun)} workloads are done")
        finally:
            # Whoever interrupts this wants no other workload to begin.
            threads.shutdown(wait=False, cancel_futures=True)


def _process(cases: Sequence[Case], part: Path, out: Path) -> None:
    lines = [{name: getattr(case.entry, name) for name in ("name", "workload", "candidate")} for case in cases]
    part.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    asked = cases[0].asked
    options = [
        f"--{name}={value}" for name in ("target", "contract", "mode", "suite") if (value := getattr(asked, name))
    ]
    command = [sys.executable, "-m", "strop", "verify", f"--manifest={part}", f"--out={out}", "--jobs=1", "--json"]
    written = out.stat().st_size
    done = subprocess.run(
        [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, text=True
    )
    said = f"The process that judged it ended with status {done.returncode}: {done.stderr.strip()[-400:]}"
    known = _rows_of(out, since=written)
    for case in cases:
        if case.key not in known:
            _append(out, _refused(case.entry.name, said, case.key))
