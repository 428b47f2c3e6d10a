"""``strop bench``: a campaign over the workloads of one or more suites."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli import options
from strop.cli.output import answer, progress_console, say, words

if TYPE_CHECKING:
    from strop.report.live import LiveView

Suites = Annotated[
    list[str],
    typer.Argument(
        help="kernelbench (of STROP_KERNELBENCH), a checkout, JSONL, or a folder of workload files; each may name a "
        "contract of its own: SUITE=bf16.",
        metavar="SUITE...",
        show_default=False,
    ),
]
Only = Annotated[
    str | None, typer.Option("--only", help="These alone, with commas: 1/19,2/14,my_file.", metavar="LIST")
]
Levels = Annotated[str | None, typer.Option("--levels", help="These levels of KernelBench: 1,2.", metavar="LIST")]
Budget = Annotated[
    str | None, typer.Option("--budget", help="For each workload: 60s (the default), 5m.", metavar="TIME")
]
TimeLimit = Annotated[
    str | None, typer.Option("--time-limit", help="Begin no workload that would not end in time: 9m.", metavar="TIME")
]
Out = Annotated[
    Path | None, typer.Option("--out", help="Write the JSON here, whole after every workload.", metavar="FILE")
]
Forbid = Annotated[
    str | None, typer.Option("--forbid", help="Legality classes that may not be used, with commas.", metavar="CLASSES")
]
BUDGET = "60s"
_PLACES = ("--out", "--store", "--time-limit")


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command()(bench)


def bench(
    context: typer.Context,
    suites: Suites,
    only: Only = None,
    levels: Levels = None,
    budget: Budget = BUDGET,
    time_limit: TimeLimit = None,
    target: options.TargetName = None,
    contract: options.ContractName = None,
    baseline: options.Baselines = None,
    forbid: Forbid = None,
    mode: options.ModeName = None,
    store: options.Store = None,
    out: Out = None,
    as_json: options.AsJson = False,
) -> None:
    """Optimise every workload of a suite and score the whole; said again, it goes on where it stopped."""
    from strop.api.asking import Asked
    from strop.api.campaign import Plan, bench_named
    from strop.report.scoreboard import campaign_report

    asked = Asked(
        target=target,
        contract=contract,
        baselines=words(baseline),
        budget=budget,
        forbid=words(forbid),
        mode=mode,
        store=store,
    )
    plan = Plan(
        suites=suites,
        only=words(only),
        levels=words(levels),
        time_limit=time_limit,
        out=out,
        command=shlex.join(["strop", *repeatable(sys.argv[1:])]),
    )
    done = bench_named(plan, asked, watch=_watching, say=say)
    answer(context, as_json, done.value, campaign_report(done.value))
    raise typer.Exit(done.exit_code)


def repeatable(typed: Sequence[str]) -> list[str]:
    """What was typed without what belongs to this place and hour alone: where things are kept, and for how long."""
    kept: list[str] = []
    rest = iter(typed)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name in _PLACES:
            if not equals:
                next(rest, None)
        elif word != "--json":
            kept.append(word)
    return kept


@contextmanager
def _watching(title: str) -> Iterator[LiveView]:
    """A view of one workload's run, below a line that says which it is."""
    from strop.report.live import LiveView

    console = progress_console()
    console.print(title, style="bold", markup=False, highlight=False, soft_wrap=True)
    with LiveView(console) as view:
        yield view
