"""``strop doctor``: what this machine can do, and the fix for each thing that it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli import options
from strop.cli.output import answer, say

if TYPE_CHECKING:
    from rich.console import RenderableType

    from strop.api.doctor import Examination
    from strop.report.jsons import Json

STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}
MARKS = {"ok": "ok", "warning": "look", "problem": "fix"}


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command()(doctor)


def doctor(
    context: typer.Context,
    recalibrate: Annotated[bool, typer.Option("--recalibrate", help="Measure the targets' ceilings again.")] = False,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """What this machine can do: devices, compilers, sandbox, clocks, noise; each problem with its fix."""
    from strop.api.doctor import examine

    found = examine(store, recalibrate=recalibrate, say=say)
    answer(context, as_json, _json(found), _report(found))


def _json(found: Examination) -> Json:
    from strop.records.ids import plain
    from strop.report.jsons import SCHEMA

    findings = [
        {"name": each.name, "state": str(each.state), "found": each.found, "fix": each.fix or None}
        for each in found.findings
    ]
    targets = [plain(each) for each in found.targets]
    return {"schema": SCHEMA, "healthy": found.healthy, "findings": findings, "targets": targets}


def _report(found: Examination) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from strop.report.terminal import grid

    table = grid("", "", "")
    for each in found.findings:
        said = Text(each.found)
        if each.fix:
            said.append(f"\n→ {each.fix}", style=STYLES[each.state])
        table.add_row(Text(MARKS[each.state], style=STYLES[each.state]), Text(each.name, style="bold"), said)
    last = "Everything that Strop needs is here." if found.healthy else "Strop cannot work here until this is mended."
    return Group(table, Text(), Text(last, style="green" if found.healthy else "bold red"))
