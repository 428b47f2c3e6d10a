"""Campaigns over scripted stations and a real ledger: what is run, resumed and left alone, and what is written when."""

import json
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest

from strop.api import campaign as api
from strop.api import running
from strop.api.asking import Asked
from strop.api.campaign import Campaign, Plan, Standing, bench_named, unwatched
from strop.errors import BadWorkload, UsageError, WorkloadInconclusive
from strop.records.event import KERNELBENCH_RULE, Admitted, RuleAsked, RunEnded, RunStarted
from strop.wiring import conditions_of, open_house
from tests.unit.supervisor.makers import TARGET
from tests.unit.supervisor.scripted import Clock, ScriptedStations

TEXT = "class Model: ...\ndef get_inputs(): ...\n# {}\n"
NAMES = ("first", "second", "third")
CPU = replace(TARGET, name="cpu")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "home"))
    (tmp_path / "suite").mkdir()
    for name in NAMES:
        (tmp_path / "suite" / f"{name}.py").write_text(TEXT.format(name))
    return tmp_path


class Stage:
    """Hands out scripted stations and notes for which workload; ``hooks`` by its file's stem, ``made`` in order."""

    def __init__(self, monkeypatch):
        self.made, self.hooks, self.admissions, self.rule = [], {}, {}, []
        self.says = lambda candidate: RuleAsked(candidate_id=candidate.id, rule=KERNELBENCH_RULE, passed=True)
        monkeypatch.setattr(running, "open_stations", self.open)
        monkeypatch.setattr(api, "open_stations", self.open)
        monkeypatch.setattr(api, "ask_kernelbench", self.ask)

    @contextmanager
    def open(self, house, workload, target, request):
        name = workload.name.removeprefix("suite/").removesuffix(".py")
        stations = ScriptedStations(hook=self.hooks.get(name))
        stations.admission = self.admissions.get(name, stations.admission)
        stations.conditions = conditions_of(target, request.contract.name)
        stations.name = name
        self.made.append(stations)
        yield stations, None

    def ask(self, wall, workload, contract, target, candidate):
        self.rule.append(workload.name)
        return self.says(candidate)

    @property
    def worked_on(self):
        return [each.name for each in self.made if each.asked]


@pytest.fixture
def stage(monkeypatch):
    return Stage(monkeypatch)


def carry_out(limit_s=None, suite="suite", clock=None, out=None, watch=unwatched, target=CPU, **asked):
    """One sitting; the campaign as it then stands."""
    words = Asked(**({"budget": 60, "baselines": ("eager", "default")} | asked))
    plan = Plan(suites=[suite], out=out, command="strop bench suite")
    with open_house() as house:
        standings = [
            Standing(item=item, request=replace(words, contract=item.contract).checked()) for item in plan.items("fp32")
        ]
        campaign = Campaign(house=house, target=target, asked=words, plan=plan, standings=standings, watch=watch)
        if clock is not None:
            campaign.clock = clock
        campaign.carry_out(limit_s)
        return campaign


def statuses(campaign):
    return [row["status"] for row in campaign.value()["rows"]]


def happenings(kind):
    with open_house() as house:
        return [
            each.what for run in house.ledger.runs() for each in house.ledger.events(run) if type(each.what) is kind
        ]


def interrupts(what):
    """A hook that presses Ctrl-C once, at that station."""
    pressed = []

    def hook(name):
        if name == what and not pressed:
            pressed.append(name)
            raise KeyboardInterrupt

    return hook


def raises(error, at="describe"):
    def hook(name):
        if name == at:
            raise error

    return hook


def test_every_workload_is_one_run_and_a_second_sitting_does_nothing(here, stage):
    campaign = carry_out(out=here / "out.json")
    assert statuses(campaign) == ["kept"] * 3
    assert stage.worked_on == list(NAMES)
    value = json.loads((here / "out.json").read_text())
    assert value == json.loads(json.dumps(campaign.value()))
    assert value["finished"] is True and value["command"] == "strop bench suite"
    again = carry_out(out=here / "out.json")
    assert again.value() == campaign.value()
    assert stage.worked_on == list(NAMES)
    assert len(happenings(RunStarted)) == 3


def test_kernelbench_s_rule_is_asked_once_about_what_is_kept(here, stage):
    stage.says = lambda candidate: RuleAsked(
        candidate_id=candidate.id, rule=KERNELBENCH_RULE, passed=False, because="far"
    )
    row = carry_out().value()["rows"][0]
    assert (row["kernelbench_rule"], row["kernelbench_because"]) == ("failed", "far")
    assert row["status"] == "kept"
    carry_out()
    assert stage.rule == [f"suite/{name}.py" for name in NAMES]


def test_what_the_rule_holds_the_device_for_is_counted_and_the_run_takes_no_longer(here, stage, monkeypatch):
    before = carry_out().value()["rows"][0]
    (here / "home" / "ledger.sqlite").unlink()
    monkeypatch.setattr(ScriptedStations, "device_seconds_s", lambda self: self.held_s if self.asked else 7.0)
    after = carry_out().value()["rows"][0]
    assert after["device_seconds"] == before["device_seconds"] + 7.0


def test_a_rule_that_cannot_be_asked_is_not_run_and_asked_again(here, stage):
    def refuse(candidate):
        raise WorkloadInconclusive("no memory")

    says, stage.says = stage.says, refuse
    campaign = carry_out()
    assert statuses(campaign) == ["kept"] * 3
    row = campaign.value()["rows"][0]
    assert (row["kernelbench_rule"], row["kernelbench_because"]) == ("not_run", "no memory")
    stage.says = says
    assert carry_out().value()["rows"][0]["kernelbench_rule"] == "passed"


@pytest.mark.parametrize("station", ["describe", "profile", "first fuse", "again fold ; fuse"])
def test_interrupted_anywhere_it_goes_on_to_the_same_end(here, stage, station):
    reference = carry_out().value()
    (here / "home" / "ledger.sqlite").unlink()
    stage.made.clear()
    stage.hooks["second"] = interrupts(station)
    campaign = carry_out(out=here / "out.json")
    assert campaign.interrupted
    assert statuses(campaign) == ["kept", "not_run", "not_run"]
    value = json.loads((here / "out.json").read_text())
    assert value["finished"] is False and "goes on" in value["rows"][1]["because"]
    assert value["scores"]["all"]["workloads"] == 1
    after = carry_out()
    assert not after.interrupted
    assert stage.worked_on == ["first", "second", "second", "third"]
    for before, row in zip(reference["rows"], after.value()["rows"], strict=True):
        assert row["kept"] == before["kept"]
    assert after.value()["scores"] == reference["scores"]


def test_an_interrupt_between_two_runs(here, stage, monkeypatch):
    """Where no run is there to hear of it."""
    looked = []

    def look_up(self, standing):
        looked.append(standing.item.key)
        if len(looked) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Campaign, "look_up", look_up)
    campaign = carry_out(out=here / "out.json")
    assert campaign.interrupted and statuses(campaign) == ["not_run"] * 3
    assert json.loads((here / "out.json").read_text())["finished"] is False


def test_a_run_without_an_end_comes_last(here, stage):
    """Whatever killed the process may do so again."""
    stage.hooks["first"] = raises(RuntimeError("a bug"), "profile")
    with pytest.raises(RuntimeError):
        carry_out()
    stage.hooks.clear()
    stage.made.clear()
    assert statuses(carry_out()) == ["kept"] * 3
    assert stage.worked_on == ["second", "third", "first"]


def test_what_cannot_be_judged_or_run_stops_nobody_else(here, stage):
    stage.hooks["first"] = raises(BadWorkload("it does not load"))
    stage.admissions["second"] = Admitted(admissible=False, because="zeros would pass")
    (here / "suite" / "zeroth.py").write_text("class Model: ...\n")
    campaign = carry_out()
    rows = {row["workload"]: row for row in campaign.value()["rows"]}
    assert rows["suite/first.py"]["status"] == "failed"
    assert rows["suite/first.py"]["because"] == "it does not load"
    assert (rows["suite/second.py"]["status"], rows["suite/second.py"]["because"]) == (
        "inadmissible",
        "zeros would pass",
    )
    assert rows["suite/third.py"]["status"] == "kept"
    assert rows["suite/zeroth.py"]["status"] == "failed" and "get_inputs" in rows["suite/zeroth.py"]["because"]
    score = campaign.value()["scores"]["all"]
    assert (score["workloads"], score["improved"], score["failed"], score["inadmissible"]) == (4, 1, 2, 1)
    # None of them is tried again.
    stage.made.clear()
    assert carry_out().value()["rows"] == campaign.value()["rows"]
    assert stage.worked_on == []


def test_the_time_limit_leaves_a_workload_that_would_not_end_in_time(here, stage):
    clock = Clock()

    def tick(name):
        clock.now_s += 10.0

    stage.hooks = dict.fromkeys(NAMES, tick)
    campaign = carry_out(limit_s=200, clock=clock)
    # The first leaves room for one more budget, the second does not.
    assert statuses(campaign) == ["kept", "kept", "not_run"]
    assert not campaign.interrupted
    assert campaign.value()["rows"][2]["because"] == "it was not begun"
    score = campaign.value()["scores"]["all"]
    assert score["not_run"] == 1 and score["geomean_with_not_run"] < score["geomean"]
    assert statuses(carry_out()) == ["kept"] * 3


def test_a_limit_always_lets_one_begin(here, stage):
    for count in (1, 2, 3):
        campaign = carry_out(limit_s=1e-9)
        assert statuses(campaign) == ["kept"] * count + ["not_run"] * (3 - count)


def test_a_larger_budget_goes_on_where_the_smaller_one_ended(here, stage):
    assert statuses(carry_out(budget=1e-9)) == ["none"] * 3
    assert statuses(carry_out(budget=1e-9)) == ["none"] * 3
    assert stage.worked_on == list(NAMES)
    assert statuses(carry_out(budget=60)) == ["kept"] * 3
    assert stage.worked_on == [*NAMES, *NAMES]
    # Those came to their end: more time would add nothing.
    assert statuses(carry_out(budget=600)) == ["kept"] * 3
    assert stage.worked_on == [*NAMES, *NAMES]


def test_whoever_watches_hears_each_run_and_the_rule(here, stage):
    heard = {}

    class Ear:
        def __init__(self, title):
            self.events = heard.setdefault(title, [])

        def heard(self, event):
            self.events.append(event)

    carry_out(watch=lambda title: nullcontext(Ear(title)))
    assert list(heard) == [f"[{number}/3] suite/{name}.py" for number, name in enumerate(NAMES, start=1)]
    for events in heard.values():
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert isinstance(events[-1].what, RuleAsked)


def test_other_options_are_another_run(here, stage):
    carry_out()
    carry_out(forbid=["work_removed"])
    assert stage.worked_on == [*NAMES, *NAMES]


def test_another_card_of_the_kind_carries_on_with_what_is_left(here, stage):
    stage.hooks["second"] = interrupts("profile")
    one, other = (replace(CPU, identity=card) for card in ("card-1", "card-2"))
    before = carry_out(target=one).value()["rows"]
    stage.hooks.clear()
    after = carry_out(target=other).value()["rows"]
    assert [row["status"] for row in after] == ["kept"] * 3
    assert [row["card"] for row in after] == ["card-1", "card-2", "card-2"]
    assert after[0]["run"] == before[0]["run"]
    assert after[1]["run"] != before[1]["run"]
    assert not any(each.resumed for each in happenings(RunStarted))


def test_a_file_that_changed_is_another_workload(here, stage):
    carry_out()
    (here / "suite" / "second.py").write_text(TEXT.format("changed"))
    assert statuses(carry_out()) == ["kept"] * 3
    assert stage.worked_on == [*NAMES, "second"]


def test_a_run_that_optimize_began_is_taken_up(here, stage):
    stage.hooks["first"] = interrupts("profile")
    carry_out()
    with open_house() as house:
        run = house.ledger.runs()[0]
    stage.hooks.clear()
    assert carry_out().value()["rows"][0]["run"] == run
    assert [each.resumed for each in happenings(RunStarted)].count(True) == 1
    assert len(happenings(RunEnded)) == 4


def test_each_suite_may_have_its_own_contract(here, stage):
    value = carry_out(suite="suite=bf16").value()
    assert value["contract"] == "bf16"
    assert {row["contract"] for row in value["rows"]} == {"bf16"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"suites": ["nowhere"]}, "no suite at 'nowhere'"),
        ({"only": ["fist"]}, "no workload in the suite named 'fist'. Did you mean 'first'"),
        ({"levels": ["one"]}, "--levels names 'one'"),
        ({"time_limit": "30s"}, "--time-limit 30s is shorter than the budget of one workload"),
        ({"time_limit": "soon"}, "'soon' is not a budget"),
    ],
)
def test_a_request_that_makes_no_sense(here, stage, changes, says):
    plan = Plan(**({"suites": ["suite"]} | changes))
    with pytest.raises(UsageError, match=says):
        bench_named(plan, Asked(budget=60))
    assert stage.made == [] and not (here / "home" / "ledger.sqlite").exists()
