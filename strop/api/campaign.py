"""A campaign: the workloads of a suite one after the other, each an ordinary run in the ledger.

The ledger is all that a campaign remembers. What it holds of a workload under the same conditions and options is that
workload's run, whoever began it; the JSON is made from these runs, whole after every workload.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from strop.api.asking import Asked, budget_s
from strop.api.running import carry_out, not_disabled
from strop.api.workloads import workload_named
from strop.errors import StoreError, StropError, UsageError
from strop.pipeline.kernelbench import ask_kernelbench
from strop.ports import Listener
from strop.records.event import Request, RunStarted, StopReason
from strop.records.measurement import Conditions
from strop.records.result import RunResult
from strop.records.target import Target
from strop.records.workload import Workload
from strop.report.campaign import Row, campaign_json, confirmed
from strop.report.jsons import Json, text
from strop.report.story import Story, told
from strop.settings import read_settings
from strop.sources.items import Item, chosen, items_of
from strop.supervisor.result import result_of
from strop.supervisor.resume import check_resumable, is_over
from strop.supervisor.state import RunState, run_state
from strop.wiring import (
    House,
    Say,
    calibrated,
    conditions_of,
    find_kind,
    machine_facts,
    open_house,
    open_stations,
    silent,
    write_whole,
)

Watch = Callable[[str], AbstractContextManager[Listener | None]]
Clock = Callable[[], float]


def unwatched(_: str) -> AbstractContextManager[Listener | None]:
    """Nobody watches."""
    return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which workloads, for how long, and where the JSON goes; in the words of the command line. ``command`` repeats
    it.
    """

    suites: Sequence[str]
    only: Sequence[str] | None = None
    levels: Sequence[str] | None = None
    time_limit: str | float | None = None
    out: Path | None = None
    command: str = ""

    def items(self, contract: str) -> list[Item]:
        """The workloads, in order.

        Raises:
            UsageError: a suite that is none, a level that is no number, a name that is not there.
        """
        configured = read_settings().kernelbench
        every = [item for suite in self.suites for item in items_of(suite, contract, configured)]
        return chosen(every, self.only, None if self.levels is None else [_level(each) for each in self.levels])


def _level(typed: str) -> int:
    if not typed.isdecimal():
        raise UsageError(f"--levels names '{typed}', which is no number: write --levels 1,2.")
    return int(typed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benched:
    """How a campaign stands: its JSON, and whether somebody interrupted it."""

    value: Json
    interrupted: bool

    @property
    def exit_code(self) -> int:
        """130 when interrupted, else 0, whatever became of the workloads: each row says that."""
        return 130 if self.interrupted else 0


def bench_named(plan: Plan, asked: Asked, *, watch: Watch = unwatched, say: Say = silent) -> Benched:
    """Carry a campaign as far as it goes: to its end, to its time limit, or to Ctrl-C. The same call goes on with it.

    Raises:
        UsageError: suites, options or limits that make no sense.
        StoreError: the ledger or ``out`` cannot be written.
    """
    asked.chosen_mode()
    contract = asked.checked().contract.name
    items = plan.items(contract)
    requests = {item.contract: replace(asked, contract=item.contract).checked() for item in items}
    limit_s = None if plan.time_limit is None else budget_s(plan.time_limit)
    longest_s = next(iter(requests.values())).budget_s
    if limit_s is not None and limit_s < longest_s:
        raise UsageError(
            f"--time-limit {plan.time_limit} is shorter than the budget of one workload ({longest_s:g} s): allow more "
            "time, or a smaller --budget."
        )
    with open_house(asked.store) as house:
        not_disabled(house)
        kind = find_kind(asked.target)
        target = calibrated(kind, house.settings, say)
        standings = [Standing(item=item, request=requests[item.contract]) for item in items]
        campaign = Campaign(house=house, target=target, asked=asked, plan=plan, standings=standings, watch=watch)
        campaign.carry_out(limit_s)
        return Benched(value=campaign.value(), interrupted=campaign.interrupted)


@dataclass(slots=True, kw_only=True)
class Standing:
    """One workload and what the ledger holds of its run; ``trouble`` is why it could not be begun or gone on with."""

    item: Item
    request: Request
    workload: Workload | None = None
    state: RunState | None = None
    story: Story | None = None
    trouble: str = ""
    rule_trouble: str = ""

    @property
    def result(self) -> RunResult | None:
        """What the run came to so far."""
        return result_of(self.state) if self.state is not None else None

    @property
    def is_finished(self) -> bool:
        """True when the run ended by itself. With a larger budget than before, one that its budget ended goes on."""
        if self.trouble:
            return True
        if self.state is None or self.state.started is None or self.state.ended is None:
            return False
        if self.state.ended.reason is StopReason.BUDGET and self.request.budget_s > self.state.started.request.budget_s:
            return is_over(self.state, self.request.budget_s)
        return self.state.ended.reason is not StopReason.INTERRUPTED

    @property
    def row(self) -> Row:
        """The same as the report wants it."""
        item = self.item
        return Row(
            workload=item.name,
            suite=item.suite,
            contract=item.contract,
            level=item.level,
            problem_id=item.problem_id,
            story=self.story,
            result=self.result,
            trouble=self.trouble,
            rule_trouble=self.rule_trouble,
        )

    @property
    def lacks_rule(self) -> bool:
        """True when something is kept that KernelBench's rule was not asked about yet."""
        result = self.result
        kept = confirmed(result.kept) if result is not None else None
        return kept is not None and not self.trouble and not self.rule_trouble and self.row.rule is None


@dataclass(slots=True, kw_only=True)
class Campaign:
    """The loop over the workloads."""

    house: House
    target: Target
    asked: Asked
    plan: Plan
    standings: list[Standing]
    watch: Watch = unwatched
    clock: Clock = time.monotonic
    interrupted: bool = False
    conditions: dict[str, Conditions] = field(default_factory=dict)
    began_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))

    def carry_out(self, limit_s: float | None) -> None:
        """Everything that is left to do, as far as ``limit_s`` allows."""
        began_s = self.clock()
        try:
            for standing in self.standings:
                self.look_up(standing)
            self.save()
            for count, (number, standing) in enumerate(self.in_order()):
                # The first is always begun: otherwise a limit that is too short would be reached again and again.
                until_s = self.clock() - began_s + self.expected_s(standing)
                if limit_s is not None and count > 0 and until_s > limit_s:
                    break
                with self.watch(f"[{number}/{len(self.standings)}] {standing.item.name}") as listener:
                    self.work_on(standing, listener)
                self.save()
                if self.interrupted:
                    break
        except KeyboardInterrupt:
            self.interrupted = True
            self.save()

    def in_order(self) -> Iterator[tuple[int, Standing]]:
        """What is left to do, with its number: in order, but a run that has no end comes last, for whatever killed it
        may do so again.
        """
        left = [
            (number, each)
            for number, each in enumerate(self.standings, start=1)
            if not each.is_finished or each.lacks_rule
        ]
        yield from sorted(left, key=lambda pair: pair[1].state is not None and pair[1].state.ended is None)

    def expected_s(self, standing: Standing) -> float:
        """Seconds that a workload will take: what the longest one took, all its sittings together, or its budget."""
        if standing.is_finished:
            return 0.0
        known = [each.state.wall_seconds_s for each in self.standings if each.state is not None]
        return max(standing.request.budget_s, *known) if known else standing.request.budget_s

    def look_up(self, standing: Standing) -> None:
        """Read the workload, and from the ledger its newest run under these very conditions and options."""
        item, suite = standing.item, standing.item.where if standing.item.level is not None else None
        try:
            standing.workload = workload_named(
                item.name, self.house, self.target.device, self.asked.chosen_mode(), suite
            )
        except StoreError:
            raise
        except UsageError as error:
            standing.trouble = str(error)
            return
        now = self.started(standing.workload, standing.request)
        for run in self.house.ledger.runs_about(standing.workload.id):
            state = run_state(self.house.ledger.events(run))
            if state.started is None or not _is_alike(state.started, now, run):
                continue
            standing.state, standing.story = state, told(self.house.ledger.events(run))
            if standing.is_finished or state.started.target.identity == now.target.identity:
                return
            # What another card began cannot be gone on with on this one.
            standing.state = standing.story = None

    def started(self, workload: Workload, request: Request) -> RunStarted:
        """How a run of this campaign begins."""
        conditions = self.conditions_under(request.contract.name)
        return RunStarted(workload=workload, target=self.target, request=request, conditions=conditions)

    def conditions_under(self, contract: str) -> Conditions:
        """The conditions of this machine; finding them out takes programs to be started, so once is enough."""
        if contract not in self.conditions:
            self.conditions[contract] = conditions_of(self.target, contract)
        return self.conditions[contract]

    def work_on(self, standing: Standing, listener: Listener | None) -> None:
        """Begin the workload's run or go on with it; then ask KernelBench's rule about what it kept."""
        workload = standing.workload
        if workload is None:
            return
        if not standing.is_finished:
            self.optimize(standing, workload, [listener] if listener is not None else [])
        if standing.state is not None and standing.state.ended is not None:
            self.interrupted = standing.state.ended.reason is StopReason.INTERRUPTED
        if not self.interrupted and standing.lacks_rule:
            self.ask_rule(standing, workload, listener)

    def optimize(self, standing: Standing, workload: Workload, watchers: Sequence[Listener]) -> None:
        run = standing.state.run if standing.state is not None else self.house.ledger.new_run()
        try:
            carry_out(self.house, run, workload, self.target, standing.request, watchers, standing.state)
        except StoreError:
            raise
        except StropError as error:
            # The ledger holds the end of a run that had begun; this sentence is for one that could not.
            standing.trouble = str(error)
        finally:
            self.refresh(standing, run)

    def refresh(self, standing: Standing, run: str) -> None:
        """What the ledger says now; nothing where the run has no first event."""
        state = run_state(self.house.ledger.events(run))
        if state.started is not None:
            standing.state, standing.story = state, told(self.house.ledger.events(run))

    def ask_rule(self, standing: Standing, workload: Workload, listener: Listener | None) -> None:
        """Have KernelBench's rule say what it thinks of what is kept, and write that down."""
        result = standing.result
        kept = confirmed(result.kept) if result is not None else None
        if result is None or kept is None:
            return
        contract, candidate = standing.request.contract, kept.keep.candidate
        try:
            with open_stations(self.house, workload, self.target, standing.request) as (stations, wall):
                said = ask_kernelbench(wall, workload, contract, self.target, candidate)
                said = replace(said, device_seconds_s=stations.device_seconds_s())
        except StoreError:
            raise
        except StropError as error:
            standing.rule_trouble = str(error)
            return
        event = self.house.ledger.append(result.run, said)
        if listener is not None:
            listener.heard(event)
        self.refresh(standing, result.run)

    def value(self) -> Json:
        """The campaign's JSON as it stands."""
        rows = [standing.row for standing in self.standings]
        begun = [row.story.started_at for row in rows if row.story is not None]
        return campaign_json(
            rows,
            target=self.target,
            conditions=self.conditions_under(rows[0].contract),
            identity=machine_facts(self.target),
            started=min(begun, default=self.began_at),
            command=self.plan.command,
        )

    def save(self) -> None:
        """Write the JSON where it was asked for; whole or not at all."""
        if self.plan.out is not None:
            write_whole(self.plan.out, (text(self.value(), indent=1) + "\n").encode())


def _is_alike(before: RunStarted, now: RunStarted, run: str) -> bool:
    """True when the run stands for the workload: same workload, conditions and options, and a card of the same kind.
    No run's times are compared with another's.
    """
    try:
        check_resumable(before, replace(now, target=replace(now.target, identity=before.target.identity)), run)
    except UsageError:
        return False
    return True
