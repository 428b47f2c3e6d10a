"""``strop show``, ``strop report`` and ``strop import``: what the ledger remembers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli import options
from strop.cli.output import answer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from strop.api.reading import Found
    from strop.report.jsons import Json

Id = Annotated[
    str | None,
    typer.Argument(
        help="A run, a candidate, or RUN/KERNEL (KERNEL#2 for the second of that name); all runs when left out.",
        metavar="ID",
        show_default=False,
    ),
]
Runs = Annotated[
    list[str], typer.Argument(help="A run, or enough of its beginning; several make one page.", metavar="RUN")
]
Other = Annotated[
    str, typer.Argument(help="Another ledger: its folder, file or database URL.", metavar="PLACE", show_default=False)
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Where to write; RUN.html by default, Markdown when it ends in .md."),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(show)
    app.command()(report)
    app.command("import")(take_over)


def show(context: typer.Context, name: Id = None, store: options.Store = None, as_json: options.AsJson = False) -> None:
    """One run, candidate or kernel from the ledger."""
    from strop.api.reading import all_runs, find
    from strop.report.jsons import runs_json
    from strop.report.terminal import runs_report

    if name is None:
        results = all_runs(store)
        answer(context, as_json, runs_json(results), runs_report(results))
        return
    value, view = _shown(find(name, store))
    answer(context, as_json, value, view)


def _shown(found: Found) -> tuple[Json, RenderableType]:
    from strop.api.reading import Done, KnownCandidate
    from strop.report import jsons, terminal

    match found:
        case Done(story=story, result=result):
            return jsons.run_json(story, result), terminal.run_report(story, result)
        case KnownCandidate(story=story, runs=runs):
            value = {"schema": jsons.SCHEMA, "runs": list(runs), **jsons.candidate_json(story)}
            return value, terminal.candidate_report(story)
        case _:
            value = {"schema": jsons.SCHEMA, "run": found.run, "number": found.number, "of": found.of}
            return value | jsons.compiled_json(found.kernel), terminal.kernel_report(found.kernel, found.of)


def report(
    context: typer.Context,
    runs: Runs,
    output: Output = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Write the report of a run, or of several, as HTML or Markdown."""
    from rich.text import Text

    from strop.api.reading import write_report
    from strop.report.jsons import SCHEMA

    written, names = write_report(runs, output, store)
    value = {"schema": SCHEMA, "run": names[0], "runs": names, "report": str(written)}
    answer(context, as_json, value, Text(f"The report of {', '.join(names)} is in {written}"))


def take_over(
    context: typer.Context, source: Other, store: options.Store = None, as_json: options.AsJson = False
) -> None:
    """Take over the runs of another ledger, such as those of another machine; said again, nothing is taken twice."""
    from rich.text import Text

    from strop.api.importing import import_runs
    from strop.report.jsons import SCHEMA

    done = import_runs(source, store)
    value = {"schema": SCHEMA, "runs": list(done.runs), "events": done.events, "known": list(done.known)}
    answer(context, as_json, value, Text(f"{len(done.runs)} runs taken over, {len(done.known)} were here already."))
