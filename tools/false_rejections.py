"""Judge honest reorderings: the same mathematics in other orders of rounding, none of which the referee may reject.

    python tools/false_rejections.py [--trials 1000] [--out docs/results/false-rejections.json] [--only TEXT]

Every trial is one candidate, judged as `strop verify` judges it: interface, values of every kind of input, parameters
drawn again, circumstances. Whatever is not passed counts as a rejection. Interrupted, it goes on where it was: what was
judged is kept beside the result until that is written.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.gallery.bench import Bench  # noqa: E402
from tests.gallery.reorderings import Reordering, reorderings  # noqa: E402
from tests.gallery.trials import Row, judged, objection, run_all, write_result  # noqa: E402

OUT = ROOT / "docs" / "results" / "false-rejections.json"


def row_of(bench: Bench, reordering: Reordering) -> Row:
    """One row of the result."""
    verdict = judged(bench, reordering)
    return objection(verdict) | {"error_ratio": verdict.error_ratio, "notes": list(verdict.notes)}


def summary(rows: list[Row]) -> Row:
    """How many were rejected, and of which workloads."""
    rejected = [row for row in rows if row["outcome"] != "passed"]
    by_workload = Counter(row["trial"].partition(":")[0] for row in rows)
    return {
        "trials": len(rows),
        "workloads": len(by_workload),
        "rejected": len(rejected),
        "share": round(len(rejected) / len(rows), 5),
        "by_workload": dict(sorted(by_workload.items())),
        "rejected_trials": [row["trial"] for row in rejected],
    }


def main() -> None:
    """Judge what was not judged yet, then write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", default="", help="trials whose names hold this text; nothing is written")
    asked = parser.parse_args()
    trials = [each for each in reorderings(asked.trials) if asked.only in each.name]
    partial = asked.out.with_suffix(".partial.jsonl")
    rows = run_all(trials, row_of, None if asked.only else partial)
    if not asked.only:
        write_result(asked.out, summary(rows), rows)
        partial.unlink()


if __name__ == "__main__":
    main()
