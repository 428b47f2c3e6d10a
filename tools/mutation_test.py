"""Judge seeded faults: every mutant of the gallery's honest kernels goes before the referee, and the result is written.

    python tools/mutation_test.py [--out docs/results/mutation.json] [--only TEXT]

A mutant that does not load, or raises on its first call, is caught by whoever runs it once; the rates count those that
ran. Interrupted, it goes on where it was: what was judged is kept beside the result until that is written.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.gallery.bench import Bench  # noqa: E402
from tests.gallery.mutants import EQUIVALENT, PRECISION, Mutant, all_mutants  # noqa: E402
from tests.gallery.trials import Row, judged, objection, run_all, write_result  # noqa: E402

OUT = ROOT / "docs" / "results" / "mutation.json"
DID_NOT_RUN = ("while it was built and loaded", "in its first run")


def row_of(bench: Bench, mutant: Mutant) -> Row:
    """One row of the result."""
    found = objection(judged(bench, mutant))
    because = found["because"]
    ran = not any(words in because for words in DID_NOT_RUN)
    return {"kind": mutant.kind, **found, "ran": ran, "because": because[:200]}


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
    rows = [
        {"mutant": row.pop("trial"), **row, "equivalent": EQUIVALENT.get(mutant.name, "")}
        for mutant, row in zip(mutants, run_all(mutants, row_of, None if asked.only else partial), strict=True)
    ]
    if not asked.only:
        write_result(asked.out, summary(rows), rows)
        partial.unlink()


if __name__ == "__main__":
    main()
