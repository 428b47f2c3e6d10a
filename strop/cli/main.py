"""The program ``strop``: the group of commands and the function that the console script calls."""

from __future__ import annotations

import atexit
import gc
import signal
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from strop import __version__
from strop.cli import benching, doctor, judging, optimizing, reading, shelves
from strop.cli.edge import Edge
from strop.settings import read_settings

GARBAGE_OBJECTS = 100_000
SUMMARY = "Makes PyTorch workloads faster than torch.compile leaves them, and proves that they are still right."


class Front(TyperGroup):
    """The group; every command runs inside the edge, which turns exceptions into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        with Edge("--json" in ctx.args) as edge:
            ctx.obj = edge
            _set_up_logging()
            return super().invoke(ctx)


def _set_up_logging() -> None:
    if read_settings().logs:
        from strop.wiring import set_up_logging

        set_up_logging(read_settings())


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"strop {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Front,
    name="strop",
    help=SUMMARY,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the program itself."""


for _module in (optimizing, benching, judging, reading, shelves, doctor):
    _module.register(app)


def run() -> None:
    """What the console script ``strop`` calls. A polite kill is an interruption like any other."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Imports make what stays: to look for garbage in it, again and again and once more at the end, is a fifth of a
    # short command.
    gc.set_threshold(GARBAGE_OBJECTS)
    atexit.register(gc.freeze)
    app(prog_name="strop")


if __name__ == "__main__":
    run()
