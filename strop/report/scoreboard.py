"""A campaign on the terminal: one line per workload, then the scores. Drawn from the campaign's JSON."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from strop.report.jsons import Json
from strop.report.phrases import plural, ratio_text, seconds_text, short
from strop.report.terminal import grid, section

STATUS_STYLE = {
    "kept": "bold green",
    "none": "yellow",
    "inadmissible": "yellow",
    "failed": "red",
    "not_run": "dim",
}


def campaign_report(value: Json) -> Group:
    """The end report of ``strop bench``."""
    parts: list[RenderableType] = [
        Text(f"{value['suite']} · {value['machine']['name']} · {value['contract']}", style="dim"),
        Text(headline(value), style="bold"),
        Text(),
        section("Workloads", _rows(value["rows"])),
        section("Scores", _scores(value["scores"])),
        section("Cost", Text(f"{seconds_text(value['device_seconds'])} on the device")),
    ]
    if not value["finished"]:
        parts.append(section("Go on", Text("The same command goes on where this one stopped.")))
    return Group(*parts)


def headline(value: Json) -> str:
    """The campaign in one sentence."""
    score = value["scores"]["all"]
    left = f", {score['not_run']} not run" if score["not_run"] else ""
    if score["geomean"] is None:
        return f"No workload came to an end yet{left}."
    interval = f"[{ratio_text(score['low'])}, {ratio_text(score['high'])}]"
    ended = plural(score["workloads"], "workload")
    return f"Geometric mean {ratio_text(score['geomean'])} {interval} over {ended}, {score['improved']} improved{left}."


def _rows(rows: list[Json]) -> RenderableType:
    table = grid("workload", "family", "status", "baseline", "speedup", "what is kept, or why not", right=(4,))
    for row in rows:
        kept = row["kept"]
        table.add_row(
            Text(row["workload"]),
            Text(row["family"] or "", style="dim"),
            Text(row["status"], style=STATUS_STYLE[row["status"]]),
            Text(row["baseline"] or ""),
            ratio_text(kept["speedup"]) if kept else "",
            Text(short(kept["recipe"] or kept["candidate_id"] if kept else row["because"], 100), style="dim"),
        )
    return table


def _scores(scores: dict[str, Json]) -> RenderableType:
    columns = ("", "geomean", "interval", "improved", "of", "without work_removed", "without compiler", "not run")
    table = grid(*columns, right=(1, 3, 4, 5, 6, 7))
    for name, score in scores.items():
        interval = "" if score["low"] is None else f"[{ratio_text(score['low'])}, {ratio_text(score['high'])}]"
        figures = [_ratio(score[key]) for key in ("without_work_removed", "without_compiler")]
        counts = [str(score[key]) for key in ("improved", "workloads", "not_run")]
        table.add_row(*map(Text, (name, _ratio(score["geomean"]), interval, *counts[:2], *figures, counts[2])))
    return table


def _ratio(value: float | None) -> str:
    return "" if value is None else ratio_text(value)
