"""Printing: reports to standard output for people, progress to standard error, the one object to scripts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from strop.cli.edge import Edge
from strop.report.jsons import Json

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NARROWEST_PIPE = 140


def progress_console() -> Console:
    """Where progress goes."""
    from rich.console import Console

    return Console(stderr=True)


def report_console() -> Console:
    """Where a report for people goes; a pipe or a file is not cut to the width of some terminal."""
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False)
    return console if console.is_terminal else Console(file=sys.stdout, highlight=False, width=NARROWEST_PIPE)


def say(sentence: str) -> None:
    """One line of progress."""
    progress_console().print(f"{sentence} …", style="dim", markup=False, highlight=False)


def words(text: str | None) -> tuple[str, ...] | None:
    """The words of a list with commas; None where nothing was said."""
    if text is None:
        return None
    return tuple(word.strip() for word in text.split(",") if word.strip())


def answer(context: typer.Context, as_json: bool, value: Json, report: RenderableType) -> None:
    """Print the object with ``--json``, else the report."""
    if as_json:
        edge = context.find_root().obj
        if isinstance(edge, Edge):
            edge.answer(value)
        return
    report_console().print(report)
