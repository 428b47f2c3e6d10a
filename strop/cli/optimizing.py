"""``strop optimize``: the main job."""

from __future__ import annotations

from typing import Annotated

import typer

from strop.cli import options
from strop.cli.output import answer, progress_console, words

OptionalWorkload = Annotated[
    str | None,
    typer.Argument(
        help="file.py, file.py:Class, package.module:factory, model.pt2, or kernelbench:LEVEL/ID.",
        metavar="WORKLOAD",
        show_default=False,
    ),
]
Budget = Annotated[
    str | None, typer.Option("--budget", help="When to stop: 90s, 5m (the default), 1h30m.", metavar="TIME")
]
MaxMemory = Annotated[
    float | None,
    typer.Option("--max-memory-ratio", help="Refuse what needs more than X times the memory; 2.0.", metavar="X"),
]
MaxError = Annotated[
    float | None,
    typer.Option("--max-error-ratio", help="Refuse what is more than X times as far from fp64; 2.0.", metavar="X"),
]
Forbid = Annotated[
    str | None, typer.Option("--forbid", help="Legality classes that may not be used, with commas.", metavar="CLASSES")
]
Agents = Annotated[str, typer.Option("--agents", help="off: the catalogue alone. Models come in a later version.")]
Resume = Annotated[str | None, typer.Option("--resume", help="Go on with an interrupted run.", metavar="RUN")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the search (never of the referee).", metavar="N")]


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command()(optimize)


def optimize(
    context: typer.Context,
    workload: OptionalWorkload = None,
    target: options.TargetName = None,
    contract: options.ContractName = None,
    baseline: options.Baselines = None,
    budget: Budget = None,
    max_memory_ratio: MaxMemory = None,
    max_error_ratio: MaxError = None,
    agents: Agents = "off",
    forbid: Forbid = None,
    mode: options.ModeName = None,
    suite: options.Suite = None,
    store: options.Store = None,
    resume: Resume = None,
    seed: Seed = None,
    as_json: options.AsJson = False,
) -> None:
    """Profile, propose, judge, keep: make a workload faster and prove that it is still right."""
    from strop.api.asking import Asked
    from strop.api.running import no_agents, optimize_named
    from strop.report.jsons import optimize_json
    from strop.report.live import LiveView
    from strop.report.terminal import run_report

    no_agents(agents)
    asked = Asked(
        target=target,
        contract=contract,
        baselines=words(baseline),
        budget=budget,
        max_memory_ratio=max_memory_ratio,
        max_error_ratio=max_error_ratio,
        forbid=words(forbid),
        mode=mode,
        suite=suite,
        store=store,
        seed=seed,
    )
    with LiveView(progress_console()) as view:
        done = optimize_named(workload, asked, resume=resume, watch=view, say=view.say)
    answer(context, as_json, optimize_json(done.result), run_report(done.story, done.result))
    raise typer.Exit(done.result.exit_code)
