"""The admission report as a page of Markdown, from its JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]


def page(value: Row) -> str:
    """The result as Markdown."""
    rows, counts = value["rows"], value["summary"]
    lively = [row for row in rows if row["liveness"]]
    bound = [row for row in rows if row["size"] and row["size"]["launch_bound"]]
    parts = [
        "# Which problems of KernelBench can be judged on",
        "Written by `python tools/admission.py` from [the same as JSON](kernelbench-admission.json); what the words "
        "mean is said under [the referee](../referee.md#is-the-workload-fit-to-judge-on). "
        f"Machine: {value['machine']}. Contract: {value['contract']}, baseline: eager.",
        table(("what", "problems"), [(key.replace("_", " "), number) for key, number in counts.items()]),
        "## Inadmissible",
        table(("problem", "because"), [(title(row), row["because"]) for row in rows if row["admissible"] is False]),
        "## What a candidate may leave out and pass",
        "Each part alone. Under *own inputs only* stands what matters under other inputs or parameters of a judgement.",
        table(
            ("problem", "dead", "own inputs only"),
            [
                (title(row), listed(row["liveness"]["dead"]), listed(row["liveness"]["own_only"]))
                for row in lively
                if row["liveness"]["dead"] or row["liveness"]["own_only"]
            ],
        ),
        "## Launch-bound",
        "Most of an eager call passes between kernels, or in kernels that take no longer than starting them.",
        table(
            ("problem", "one call in us", "launches", "one launch in us"),
            [
                (title(row), us(row["size"]["call_ns"]), row["size"]["launches"], us(row["size"]["launch_ns"]))
                for row in bound
            ],
        ),
        "## Not looked at, or not wholly",
        table(("problem", "because"), [(title(row), why) for row in rows for why in lacking(row)]),
    ]
    left = counts["problems"] - counts["looked_at"]
    return "\n\n".join([*parts, *([f"{left} further problems were not begun."] if left else [])]) + "\n"


def lacking(row: Row) -> Iterator[str]:
    """What is missing in a row, as sentences."""
    if row["outcome"] != "done":
        yield f"{row['outcome']}: {row['trouble']}"
    found = row["liveness"]
    if found and found["looked_at"] < found["parts"]:
        yield f"{found['parts'] - found['looked_at']} of {found['parts']} parts were not left out: {found['because']}"
    if found and found["unsettled"]:
        yield f"dead as far as it was tried, {found['because']}: {', '.join(found['unsettled'])}"


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """A table of Markdown, or a word that there is nothing in it."""
    if not rows:
        return "None."
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(each).replace('|', chr(92) + '|') for each in line)} |" for line in lines)


def title(row: Row) -> str:
    """Number and name."""
    return f"{row['problem']} {row['name']}".strip()


def listed(parts: list[str]) -> str:
    """One after the other."""
    return ", ".join(f"`{each}`" for each in parts)


def us(time_ns: float) -> str:
    """Microseconds."""
    return f"{time_ns / 1e3:.1f}"
