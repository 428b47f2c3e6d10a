"""``strop show``, ``strop report`` and ``strop import``: what ledgers remember."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli import options
from strop.cli.output import answer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from strop.api.importing import Imported
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
    str,
    typer.Argument(
        help="The other ledger: a folder, a file or a database URL. It is only read.",
        metavar="STORE",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Where to write; RUN.html by default, Markdown when it ends in .md."),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(show)
    app.command()(report)
    app.command("import")(import_)


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


def import_(context: typer.Context, other: Other, store: options.Store = None, as_json: options.AsJson = False) -> None:
    """Take over the runs of another ledger, to read and score as one what was measured in several places."""
    from rich.text import Text

    from strop.api.importing import import_runs
    from strop.report.jsons import SCHEMA

    done = import_runs(other, store)
    value = {
        "schema": SCHEMA,
        "from": done.there,
        "into": done.here,
        "runs_taken": len(done.taken),
        "events_taken": sum(each.taken for each in done.runs),
        "runs_held": len(done.runs) - len(done.taken) - len(done.refused),
        "events_held": sum(each.held for each in done.runs),
        "files_taken": done.files,
        "refused": [{"run": each.run, "because": each.because} for each in done.refused],
    }
    answer(context, as_json, value, Text(_told(done, value)))
    raise typer.Exit(done.exit_code)


def _told(done: Imported, value: Json) -> str:
    """The counts as sentences, a line for each run that was refused."""
    from strop.report.phrases import plural

    taken = f"{plural(value['events_taken'], 'event')} of {plural(value['runs_taken'], 'run')}"
    held = f"{plural(value['events_held'], 'event')} and {plural(value['runs_held'], 'whole run')} were there already"
    lines = [f"Taken over from {done.there} into {done.here}: {taken}; {held}."]
    if done.files:
        lines.append(f"{plural(done.files, 'workload')} came along as files.")
    lines += [f"Run {each.run} was not taken: {each.because}" for each in done.refused]
    return "\n".join(lines)
