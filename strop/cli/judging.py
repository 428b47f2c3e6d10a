"""``strop verify``, ``strop compare`` and ``strop profile``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from strop.cli import options
from strop.cli.output import answer, progress_console, say, words

if TYPE_CHECKING:
    from strop.api.asking import Asked
    from strop.api.judging import Ruling

Counters = Annotated[
    bool,
    typer.Option(
        "--counters/--no-counters",
        help="On a GPU: read its own counters with Nsight Compute, where it is installed and permitted.",
    ),
]
Instead = Annotated[
    str | None,
    typer.Option(
        "--candidate",
        help="Profile this file or recipe in the place of the best baseline; it is not judged.",
        metavar="CANDIDATE",
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Show the errors of candidate, baseline and honest rounding against double precision for each kind of "
        "inputs, and whether they look like a lower precision than promised.",
    ),
]
MaybeWorkload = Annotated[
    str | None,
    typer.Argument(
        help="file.py, file.py:Class, package.module:factory, model.pt2, or kernelbench:LEVEL/ID.", metavar="WORKLOAD"
    ),
]
MaybeCandidate = Annotated[
    str | None,
    typer.Argument(help="A file that defines ModelNew (or Model), or a recipe in quotes.", metavar="CANDIDATE"),
]
Manifest = Annotated[
    Path | None,
    typer.Option(
        "--manifest",
        help='Many candidates: a file with one object a line, {"workload": "a.py", "candidate": "b.py"}, and name, '
        "contract and mode where they differ.",
        metavar="FILE",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", help="Workloads of the manifest that are judged at once.", metavar="COUNT"),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Append each row of the manifest here when it is known; said again, it goes on.", metavar="FILE"
    ),
]
EXIT_CODES = {"passed": 0, "failed": 1, "inconclusive": 3}


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(verify)
    app.command()(compare)
    app.command()(profile)


def verify(
    context: typer.Context,
    workload: MaybeWorkload = None,
    candidate: MaybeCandidate = None,
    target: options.TargetName = None,
    contract: options.ContractName = None,
    mode: options.ModeName = None,
    suite: options.Suite = None,
    explain: Explain = False,
    manifest: Manifest = None,
    jobs: Jobs = None,
    out: Out = None,
    as_json: options.AsJson = False,
) -> None:
    """The referee alone: is this candidate right? Works for anybody's kernel."""
    from strop.api.asking import Asked
    from strop.api.judging import verify_named
    from strop.errors import UsageError

    asked = Asked(target=target, contract=contract, mode=mode, suite=suite)
    if manifest is not None:
        if workload is not None or explain:
            raise UsageError(
                "--manifest names workloads and candidates itself, and explains none: name nothing beside it."
            )
        _verify_many(context, manifest, asked, jobs, out, as_json)
    if workload is None or candidate is None:
        raise UsageError("Name a workload and a candidate: strop verify work.py mine.py, or many with --manifest FILE.")
    if jobs is not None or out is not None:
        raise UsageError("--jobs and --out are for --manifest, which judges many candidates.")
    _end(context, verify_named(workload, candidate, asked, say, explain=explain), as_json)


def compare(
    context: typer.Context,
    workload: options.Workload,
    candidate: options.CandidateText,
    target: options.TargetName = None,
    contract: options.ContractName = None,
    baseline: options.Baselines = None,
    mode: options.ModeName = None,
    suite: options.Suite = None,
    as_json: options.AsJson = False,
) -> None:
    """Verify, then paired timing against the best baseline in fresh processes."""
    from strop.api.asking import Asked
    from strop.api.judging import compare_named

    asked = Asked(target=target, contract=contract, baselines=words(baseline), mode=mode, suite=suite)
    _end(context, compare_named(workload, candidate, asked, say), as_json)


def profile(
    context: typer.Context,
    workload: options.Workload,
    target: options.TargetName = None,
    contract: options.ContractName = None,
    baseline: options.Baselines = None,
    mode: options.ModeName = None,
    suite: options.Suite = None,
    candidate: Instead = None,
    counters: Counters = True,
    as_json: options.AsJson = False,
) -> None:
    """What the compiler made of a workload: kernels, shares of the time, bounds, headroom, proposals."""
    from strop.api.asking import Asked
    from strop.api.surveying import profile_named
    from strop.report.jsons import profile_json
    from strop.report.live import LiveView
    from strop.report.terminal import profile_report

    asked = Asked(target=target, contract=contract, baselines=words(baseline), mode=mode, suite=suite)
    with LiveView(progress_console()) as view:
        story = profile_named(workload, asked, view, view.say, typed_candidate=candidate, counters=counters)
    answer(context, as_json, profile_json(story), profile_report(story))


def _verify_many(
    context: typer.Context, manifest: Path, asked: Asked, jobs: int | None, out: Path | None, as_json: bool
) -> NoReturn:
    from strop.api.manifest import verify_manifest
    from strop.report.rows import rows_json, rows_report

    processors = len(os.sched_getaffinity(0))
    found = verify_manifest(
        manifest, asked, jobs=jobs if jobs is not None else max(1, processors // 2), out=out, say=say
    )
    answer(context, as_json, rows_json(found.rows, found.counts), rows_report(found.rows, found.counts))
    raise typer.Exit(found.exit_code)


def _end(context: typer.Context, ruling: Ruling, as_json: bool) -> None:
    from rich.console import Group

    from strop.report.explained import explanation_json, explanation_report
    from strop.report.jsons import verdict_json
    from strop.report.terminal import verdict_report

    value = verdict_json(
        ruling.verdict, ruling.workload, ruling.target, ruling.contract, ruling.comparison, ruling.mode
    )
    report = verdict_report(ruling.verdict, ruling.comparison)
    if ruling.explanation is not None:
        value["explanation"] = explanation_json(ruling.explanation)
        report = Group(report, explanation_report(ruling.explanation, ruling.contract))
    answer(context, as_json, value, report)
    raise typer.Exit(EXIT_CODES[ruling.verdict.outcome])
