"""Judge seeded faults: every mutant of the gallery's honest kernels goes before the referee, and the result is written.

    python tools/mutation_test.py [--out docs/results/mutation.json] [--only TEXT]

A mutant that does not load, or raises on its first call, is caught by whoever runs it once; the rates count those that
ran. Interrupted, it goes on where it was: what was judged is kept beside the result until that is written.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from strop.records.verdict import Failed  # noqa: E402
from tests.gallery.bench import open_bench  # noqa: E402
from tests.gallery.mutants import EQUIVALENT, PRECISION, Mutant, all_mutants  # noqa: E402

OUT = ROOT / "docs" / "results" / "mutation.json"
DID_NOT_RUN = ("while it was built and loaded", "in its first run")


def judged(bench: Any, mutant: Mutant) -> dict[str, Any]:
    """One row of the result."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{mutant.kernel.stem}.py"
        path.write_text(mutant.text, encoding="utf-8")
        verdict = bench.judge(path, mutant.workload).verdict
    failure = next((each for each in verdict.findings if isinstance(each, Failed)), None)
    because = failure.because if failure else ""
    return {
        "mutant": mutant.name,
        "kind": mutant.kind,
        "outcome": verdict.outcome,
        "ran": not any(words in because for words in DID_NOT_RUN),
        "check": failure.check if failure else None,
        "because": because[:200],
        "equivalent": EQUIVALENT.get(mutant.name, ""),
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Rates over the faults that ran, all together, of precision, and by kind."""
    faults = [row for row in rows if row["ran"] and not row["equivalent"]]
    kinds: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in faults:
        kinds[row["kind"]].append(row)
    return {
        "mutants": len(rows),
        "kernels": len({row["mutant"].partition(":")[0] for row in rows}),
        "did_not_run": sum(not row["ran"] for row in rows),
        "equivalent": sum(bool(row["equivalent"]) for row in rows),
        "all": rate(faults),
        "precision": rate(kinds[PRECISION]),
        "by_kind": {kind: rate(found) for kind, found in sorted(kinds.items())},
    }


def rate(faults: list[dict[str, Any]]) -> dict[str, Any]:
    """How many were caught."""
    caught = sum(row["outcome"] == "failed" for row in faults)
    return {"faults": len(faults), "caught": caught, "share": round(caught / len(faults), 4) if faults else None}


def main() -> None:
    """Judge what was not judged yet, then write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", default="", help="mutants whose names hold this text; nothing is written")
    asked = parser.parse_args()
    mutants = [each for each in all_mutants() if asked.only in each.name]
    partial = asked.out.with_suffix(".partial.jsonl")
    known = [json.loads(line) for line in partial.read_text().splitlines()] if partial.exists() else []
    rows = {row["mutant"]: row for row in known}
    began_s = time.monotonic()
    with open_bench() as bench:
        for number, mutant in enumerate(mutants, 1):
            if mutant.name not in rows or asked.only:
                rows[mutant.name] = judged(bench, mutant)
                if not asked.only:
                    with partial.open("a") as file:
                        file.write(json.dumps(rows[mutant.name]) + "\n")
            row = rows[mutant.name]
            sys.stdout.write(f"[{number}/{len(mutants)}] {row['outcome']:7} {row['check'] or '':20} {mutant.name}\n")
            sys.stdout.flush()
    if asked.only:
        return
    found = [rows[mutant.name] | {"equivalent": EQUIVALENT.get(mutant.name, "")} for mutant in mutants]
    machine = f"{platform.machine()}, {len(os.sched_getaffinity(0))} processors, torch {torch.__version__}"
    result = {"schema": 1, "machine": machine, "seconds": round(time.monotonic() - began_s), **summary(found)}
    asked.out.write_text(json.dumps(result | {"rows": found}, indent=1) + "\n", encoding="utf-8")
    partial.unlink(missing_ok=True)
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
