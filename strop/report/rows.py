"""The answer of ``strop verify --manifest``: one row for each entry, and how many there are of each verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group
from rich.text import Text

from strop.report.jsons import SCHEMA, Json
from strop.report.phrases import listed, short
from strop.report.terminal import OUTCOME_STYLE, grid, section


def rows_json(rows: Sequence[Json], counts: Mapping[str, int]) -> Json:
    """Everything, in the order of the manifest."""
    return {"schema": SCHEMA, "counts": dict(counts), "rows": list(rows)}


def rows_report(rows: Sequence[Json], counts: Mapping[str, int]) -> Group:
    """For people."""
    table = grid("name", "verdict", "check", "because")
    for row in rows:
        verdict = row["verdict"]
        style = OUTCOME_STYLE.get(verdict, "yellow")
        table.add_row(
            row["name"], Text(verdict, style=style), row.get("failed_check") or "", short(row.get("because", ""), 160)
        )
    said = listed([f"{count} {verdict}" for verdict, count in counts.items() if count])
    return Group(Text(f"{said[:1].upper()}{said[1:]}.", style="bold"), Text(), section("Candidates", table))
