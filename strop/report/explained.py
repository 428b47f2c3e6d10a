"""The answer of ``strop verify --explain``: errors for each kind of inputs as a table, as a plot and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from strop.records.evidence import ErrorQuantiles
from strop.records.explanation import ErrorRow, Explanation
from strop.report.jsons import Json
from strop.report.phrases import share_text
from strop.report.terminal import grid, section

PLOT_WIDTH = 72
_LEGEND = "99 % quantile, logarithmic axis: c candidate, b baseline, h honest rounding, | allowed, * several of them"


def explanation_json(explanation: Explanation) -> Json:
    """Everything; ``looks_like`` is empty where nothing looks like a lower precision."""
    return {
        "looks_like": list(explanation.looks_like),
        "because": explanation.because,
        "rows": [
            {
                "inputs": str(row.distribution),
                "parameters_draw": row.parameters_draw,
                "output": row.path,
                "candidate": _quantiles(row.candidate),
                "baseline": _quantiles(row.baseline),
                "honest": _quantiles(row.honest),
                "allowed": _quantiles(row.allowed),
            }
            for row in explanation.rows
        ],
    }


def _quantiles(errors: ErrorQuantiles) -> Json:
    return {"p50": errors.p50, "p99": errors.p99, "p999": errors.p999, "max": errors.max}


def explanation_report(explanation: Explanation, contract: str) -> Group:
    """Behind the verdict."""
    parts: list[RenderableType] = []
    if explanation.looks_like:
        alike = f"under the contract {contract} its errors look like {' or '.join(explanation.looks_like)}"
        parts.append(Text(f"Hidden precision downgrade: {alike}.\n", style="bold red"))
    if explanation.because:
        parts.append(Text(f"Not all inputs were tried: {explanation.because}\n", style="yellow"))
    if explanation.rows:
        parts.append(section("Errors against double precision", _table(explanation.rows)))
        parts.append(section(_LEGEND, _plot(explanation.rows)))
    return Group(*parts)


def _table(rows: Sequence[ErrorRow]) -> RenderableType:
    figures = [f"{quantile} {who}" for quantile in ("median", "max") for who in ("candidate", "baseline", "honest")]
    table = grid("inputs", "output", *figures, "of allowed", right=range(2, 9))
    for row in rows:
        medians = [each.p50 for each in (row.candidate, row.baseline, row.honest)]
        largest = [each.max for each in (row.candidate, row.baseline, row.honest)]
        share = used_share(row)
        style = "bold red" if share > 1 else ""
        table.add_row(
            _inputs(row), row.path, *(f"{each:.2g}" for each in (*medians, *largest)), Text(share_text(share), style)
        )
    return table


def _inputs(row: ErrorRow) -> str:
    redrawn = f", parameters {row.parameters_draw}" if row.parameters_draw else ""
    return f"{row.distribution}{redrawn}"


def used_share(row: ErrorRow) -> float:
    """The largest part of what is allowed that any quantile takes up; infinite where nothing is allowed and it errs."""
    pairs = zip(row.candidate.as_tuple(), row.allowed.as_tuple(), strict=True)
    return max(error / limit if limit > 0 else math.inf if error > 0 else 0.0 for error, limit in pairs)


def _plot(rows: Sequence[ErrorRow]) -> RenderableType:
    marks = [{"c": row.candidate.p99, "b": row.baseline.p99, "h": row.honest.p99, "|": row.allowed.p99} for row in rows]
    found = [value for each in marks for value in each.values() if 0 < value < math.inf]
    low, high = math.log10(min(found, default=1.0)), math.log10(max(found, default=10.0))
    table = grid("", "", "")
    for row, each in zip(rows, marks, strict=True):
        table.add_row(_inputs(row), row.path, Text(_line(each, low, max(high, low + 1.0))))
    table.add_row("", "", Text(f"{10**low:.1e}".ljust(PLOT_WIDTH - 7) + f"{10 ** max(high, low + 1.0):.1e}", "dim"))
    return table


def _line(marks: dict[str, float], low: float, high: float) -> str:
    """Marks at their places; an error of nothing stands at the left end, one beyond all figures at the right."""
    cells = ["·"] * PLOT_WIDTH
    for mark, value in marks.items():
        share = (math.log10(value) - low) / (high - low) if 0 < value < math.inf else float(value > 0)
        at = min(PLOT_WIDTH - 1, max(0, round(share * (PLOT_WIDTH - 1))))
        cells[at] = mark if cells[at] == "·" else "*"
    return "".join(cells)
