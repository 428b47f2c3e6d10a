"""Long series of trials before the referee, for `tools/`: what was judged is kept, so a stopped one goes on."""

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from strop.records.verdict import Failed, Verdict
from tests.gallery.bench import Bench, open_bench


class Trial(Protocol):
    """A text to be judged against a workload."""

    @property
    def name(self) -> str: ...
    @property
    def workload(self) -> Path: ...
    @property
    def text(self) -> str: ...


Row = dict[str, Any]


def judged(bench: Bench, trial: Trial) -> Verdict:
    """The verdict on one text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{trial.name.partition(':')[0]}.py"
        path.write_text(trial.text, encoding="utf-8")
        return bench.judge(path, trial.workload).verdict


def objection(verdict: Verdict) -> Row:
    """The outcome, and the check that failed first."""
    failure = next((each for each in verdict.findings if isinstance(each, Failed)), None)
    return {
        "outcome": verdict.outcome,
        "check": failure.check if failure else None,
        "because": failure.because if failure else "",
    }


def run_all(trials: Sequence[Trial], row_of: Callable[[Bench, Any], Row], partial: Path | None) -> list[Row]:
    """The row of every trial. With ``partial``, a file, rows that it holds are taken from it and new ones added."""
    known = [json.loads(line) for line in partial.read_text().splitlines()] if partial and partial.exists() else []
    rows = {row["trial"]: row for row in known}
    with open_bench() as bench:
        for number, trial in enumerate(trials, 1):
            if trial.name not in rows:
                began_s = time.monotonic()
                row = {"trial": trial.name} | row_of(bench, trial)
                rows[trial.name] = row | {"seconds": round(time.monotonic() - began_s, 2)}
                if partial:
                    with partial.open("a") as file:
                        file.write(json.dumps(rows[trial.name]) + "\n")
            row = rows[trial.name]
            sys.stdout.write(f"[{number}/{len(trials)}] {row['outcome']:12} {row['check'] or '':20} {trial.name}\n")
            sys.stdout.flush()
    return [rows[trial.name] for trial in trials]


def write_result(out: Path, result: Row, rows: Sequence[Row]) -> None:
    """Write what was found, and say it without the rows."""
    machine = f"{platform.machine()}, {len(os.sched_getaffinity(0))} processors, torch {torch.__version__}"
    seconds = round(sum(row["seconds"] for row in rows))
    head = {"schema": 1, "machine": machine, "seconds": seconds, **result}
    out.write_text(json.dumps(head | {"rows": list(rows)}, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(head, indent=1) + "\n")
