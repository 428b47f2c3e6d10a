"""``strop catalogue``, ``strop targets``, ``strop checks``: the shelves, each entry documented from its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli import options
from strop.cli.output import answer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from strop.report.jsons import Json

Name = Annotated[str | None, typer.Argument(help="One entry; all of them when left out.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(catalogue)
    app.command()(targets)
    app.command()(checks)


def catalogue(context: typer.Context, name: Name = None, as_json: options.AsJson = False) -> None:
    """The transforms: when each applies, why it is valid, when it pays."""
    from strop.api.shelves import transform_entries

    _show(context, transform_entries(name), name, as_json, "transforms")


def targets(context: typer.Context, name: Name = None, as_json: options.AsJson = False) -> None:
    """The kinds of hardware, and which of them this machine is."""
    from strop.api.shelves import target_entries

    _show(context, target_entries(name), name, as_json, "targets")


def checks(context: typer.Context, name: Name = None, as_json: options.AsJson = False) -> None:
    """The judges: what each looks at, and worked examples of what it says."""
    from strop.api.shelves import check_entries

    _show(context, check_entries(name), name, as_json, "checks")


def _show(context: typer.Context, entries: list[Json], name: str | None, as_json: bool, shelf: str) -> None:
    from strop.report.jsons import SCHEMA

    answer(context, as_json, {"schema": SCHEMA, shelf: entries}, _report(entries, name is not None))


def _report(entries: list[Json], whole: bool) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from strop.report.terminal import facts, grid, section

    if whole:
        shown = [
            section(str(entry["name"]), facts((key, _words(value)) for key, value in entry.items() if key != "name"))
            for entry in entries
        ]
        return Group(*shown)
    table = grid("name", "")
    for entry in entries:
        table.add_row(Text(str(entry["name"]), style="cyan"), Text(str(entry["summary"])))
    return table


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, list):
        return "\n".join(_words(item) for item in value) or "none"
    return str(value)
