"""The main job from the words of the command line: make or take up a run, and carry it to its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strop.api.asking import Asked
from strop.api.reading import Done, full_id
from strop.api.workloads import workload_named
from strop.errors import NotSupported, UsageError
from strop.pipeline.stations import LocalStations
from strop.ports import Listener
from strop.records.event import Described, Request, RunStarted
from strop.records.target import Target
from strop.records.workload import SourceKind, Workload
from strop.report.story import Story, told
from strop.searches import SHELF as SEARCHES
from strop.sources.suite import names_problem
from strop.sources.text import digest_of, read_bytes
from strop.supervisor.loop import Job, optimize
from strop.supervisor.resume import check_resumable, check_same_code, is_over
from strop.supervisor.state import RunState, run_state
from strop.wiring import House, Say, calibrated, find_kind, open_house, open_stations, silent


def no_agents(agents: str) -> None:
    """Refuse a model's name: this version has no agents, and going on without them is not what was asked.

    Raises:
        NotSupported: anything but ``off``.
    """
    if agents != "off":
        raise NotSupported(
            f"--agents {agents}: this version has no agents yet. Use --agents off; the catalogue then works alone."
        )


def optimize_named(
    typed: str | None,
    asked: Asked,
    *,
    resume: str | None = None,
    watch: Listener | None = None,
    say: Say = silent,
) -> Done:
    """Optimise what was typed, or go on with a run.

    Raises:
        UsageError: neither a workload nor a run, or a run that cannot be gone on with like this.
        BadWorkload: the workload's code does not load or raises.
    """
    watchers = [watch] if watch is not None else []
    if resume is not None:
        return _resume(typed, asked, resume, watchers, say)
    if typed is None:
        raise UsageError("Name a workload: strop optimize path/to/file.py, or --resume RUN to go on with a run.")
    request = asked.checked()
    with open_house(asked.store) as house:
        not_disabled(house)
        kind = find_kind(asked.target)
        workload = workload_named(typed, house, kind.device, asked.chosen_mode(), asked.suite)
        target = calibrated(kind, house.settings, say)
        return carry_out(house, house.ledger.new_run(), workload, target, request, watchers)


def _resume(typed: str | None, asked: Asked, name: str, watchers: Sequence[Listener], say: Say) -> Done:
    """The same workload, target and request as before; only what was said again is compared with the ledger's."""
    with open_house(asked.store, create=False) as house:
        not_disabled(house)
        run = full_id(name, house.ledger.runs())
        state = run_state(house.ledger.events(run))
        before = state.started
        if before is None:
            raise UsageError(f"Run {run} never started: begin a new one.")
        named = _named_again(typed, asked, before.workload, run)
        kind = find_kind(asked.target or before.target.name)
        workload = before.workload
        if named is not None:
            workload = workload_named(named, house, kind.device, before.workload.mode, asked.suite)
        unchanged(workload)
        target = calibrated(kind, house.settings, say)
        return carry_out(house, run, workload, target, asked.checked(before.request), watchers, state)


def _named_again(typed: str | None, asked: Asked, before: Workload, run: str) -> str | None:
    """The workload's name where it must be read anew to be compared with the run's; None where nothing was said.

    Raises:
        UsageError: another mode, or a suite for a workload that is in none.
    """
    mode = asked.chosen_mode()
    if mode not in (None, before.mode):
        raise UsageError(
            f"Run {run} was about {before.mode} mode, and --mode {mode} was said. Leave --mode out, or start a new run."
        )
    if typed is not None or asked.suite is None:
        return typed
    if not names_problem(before.name):
        raise UsageError(f"Run {run} was about '{before.name}', which is in no suite: leave --suite out.")
    return before.name


def not_disabled(house: House) -> None:
    """Refuse where the user switched Strop off.

    Raises:
        UsageError: STROP_DISABLE is set.
    """
    if house.settings.disabled:
        raise UsageError("STROP_DISABLE is set, which switches Strop off: unset it and run again.")


def unchanged(workload: Workload) -> None:
    """Make sure that the workload's file is still the one that the run was about. A factory has none: what its modules
    held is compared once a child has imported them.

    Raises:
        UsageError: it has changed.
        BadWorkload: it is gone.
    """
    source = workload.source
    if source.kind is SourceKind.FACTORY:
        return
    if digest_of(read_bytes(Path(source.where), UsageError)) != source.digest:
        raise UsageError(f"'{source.where}' has changed since the run began: start a new run.")


def _check_before(before: RunState, now: RunStarted, stations: LocalStations) -> None:
    """Cheap things first; a child that says what the code is now is only started where something is left to do."""
    described = before.surveyed.get("described")
    if before.started is None or not isinstance(described, Described):
        return
    check_resumable(before.started, now, before.run)
    if not is_over(before, now.request.budget_s):
        check_same_code(described.description, stations.describe().description, now.workload, before.run)


def carry_out(
    house: House,
    run: str,
    workload: Workload,
    target: Target,
    request: Request,
    watchers: Sequence[Listener],
    before: RunState | None = None,
) -> Done:
    """Carry one run to its end; what was kept so far is in the result however it ends. ``before`` is what the ledger
    holds of a run that is taken up again.

    Raises:
        UsageError: ``before`` cannot be gone on with: other conditions, other options, other code.
    """
    with open_stations(house, workload, target, request) as (stations, _):
        started = RunStarted(workload=workload, target=target, request=request, conditions=stations.conditions)
        if before is not None:
            _check_before(before, started, stations)
        job = Job(
            run=run,
            started=started,
            ledger=house.ledger,
            stations=stations,
            search=SEARCHES.get(request.search),
            listeners=tuple(watchers),
        )
        result = optimize(job)
    story: Story = told(house.ledger.events(run))
    return Done(story=story, result=result)
