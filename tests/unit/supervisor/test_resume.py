"""A run that was cut off anywhere goes on to the same decisions, and nothing is judged or timed twice."""

from dataclasses import replace

import pytest

from strop.errors import UsageError
from strop.records.event import Decided, StopReason
from strop.records.workload import Description, SourceKind
from strop.supervisor.loop import optimize
from strop.supervisor.result import summarise
from strop.supervisor.resume import check_same_code
from strop.supervisor.state import run_state
from tests.unit.supervisor.makers import CONDITIONS, TARGET, WORKLOAD, started
from tests.unit.supervisor.scripted import SURVEY, Clock, ListLedger, ScriptedStations
from tests.unit.supervisor.test_loop import best_recipe, job, raising


def decisions(ledger, run="r-1"):
    return [(event.what.final, event.what.decision) for event in ledger.events(run) if isinstance(event.what, Decided)]


def whole():
    ledger = ListLedger()
    return optimize(job(ScriptedStations(), ledger)), ledger


def cut(ledger, length):
    """The ledger of a process that was killed after ``length`` events."""
    short = ListLedger()
    short.kept = ledger.kept[:length]
    return short


def test_killed_after_any_event_it_comes_to_the_same_decisions():
    result, reference = whole()
    for length in range(1, len(reference.kept)):
        ledger = cut(reference, length)
        known = len(decisions(ledger))
        stations = ScriptedStations()
        resumed = optimize(job(stations, ledger))
        assert decisions(ledger) == decisions(reference)
        assert len(stations.judged) == len(decisions(reference)) - known
        assert (resumed.kept, resumed.failed, resumed.reason) == (result.kept, result.failed, result.reason)
        surveyed = length - 1 if length <= 6 else 6
        assert stations.asked[: 6 - surveyed] == list(SURVEY[surveyed:])
        assert len(stations.recalled) == surveyed


def test_second_sitting_is_marked_and_its_listeners_hear_the_first():
    _, reference = whole()
    ledger, heard = cut(reference, 12), []

    class Ear:
        def heard(self, event):
            heard.append(event.sequence)

    optimize(job(ScriptedStations(), ledger, listeners=[Ear()]))
    assert heard == [event.sequence for event in ledger.kept]
    assert ledger.kept[12].what.resumed
    assert not ledger.kept[0].what.resumed


def test_a_candidate_that_was_proposed_but_not_decided_is_judged_again():
    _, reference = whole()
    at = next(i for i, event in enumerate(reference.kept) if event.what.event == "proposed")
    for length in (at + 1, at + 2):
        stations = ScriptedStations()
        optimize(job(stations, cut(reference, length)))
        assert stations.judged.count("first fold") == 1


def test_an_interrupted_run_goes_on():
    ledger = ListLedger()
    first = optimize(job(ScriptedStations(hook=raising("again fold ; fuse", KeyboardInterrupt())), ledger))
    assert not first.kept.confirmed
    stations = ScriptedStations()
    result = optimize(job(stations, ledger))
    assert stations.judged == ["again fold ; fuse"]
    assert result.kept.confirmed
    assert result.exit_code == 0


def test_a_run_that_is_over_is_not_touched():
    result, ledger = whole()
    before = list(ledger.kept)
    stations = ScriptedStations()
    assert optimize(job(stations, ledger)) == result
    assert ledger.kept == before
    assert stations.asked == []


def test_a_resumed_run_has_the_rest_of_its_budget():
    clock, ledger = Clock(), ListLedger()

    def slow(name):
        if name.startswith("first"):
            clock.now_s += 40.0
        if name == "first fuse":
            raise KeyboardInterrupt

    first = optimize(job(ScriptedStations(hook=slow), ledger, clock=clock, budget_s=100.0))
    assert first.wall_seconds_s == 80.0
    later = Clock()
    later.now_s = 5000.0

    def slower(name):
        if name.startswith("first"):
            later.now_s += 40.0

    stations = ScriptedStations(hook=slower)
    result = optimize(job(stations, ledger, clock=later, budget_s=100.0))
    assert [name for name in stations.judged if name.startswith("first")] == ["first fuse"]
    assert (result.reason, result.wall_seconds_s) == (StopReason.BUDGET, 120.0)
    # Held one second for each judgement of either sitting, the one that was cut off included.
    assert result.device_seconds_s == 1 + 1 + 1


def test_more_budget_continues_a_run_that_ran_out():
    clock, ledger = Clock(), ListLedger()

    def slow(name):
        if name.startswith("first"):
            clock.now_s += 40.0

    first = optimize(job(ScriptedStations(hook=slow), ledger, clock=clock, budget_s=60.0))
    assert first.reason is StopReason.BUDGET
    same = optimize(job(ScriptedStations(), ledger, clock=Clock(), budget_s=60.0))
    assert same == first
    stations = ScriptedStations()
    result = optimize(job(stations, ledger, clock=Clock(), budget_s=1000.0))
    assert stations.judged == ["first wrong", "first fold ; fuse", "again fold ; fuse"]
    assert result.reason is StopReason.NOTHING_LEFT
    assert best_recipe(result.kept) == "fold ; fuse"


def test_killed_sittings_are_paid_for_too():
    _, reference = whole()
    ledger = cut(reference, len(reference.kept) - 2)
    state = run_state(ledger.events("r-1"))
    # The scripted ledger's clock ticks once a second.
    assert state.wall_seconds_s == len(ledger.kept) - 1
    assert state.device_seconds_s == len(decisions(ledger))
    assert summarise(ledger.events("r-1")).exit_code == 4


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"target": replace(TARGET, name="h200")}, "on the target null, and h200 was named"),
        ({"target": replace(TARGET, identity="card-2")}, r"measured on another card \(.*card-2.*CUDA_VISIBLE_DEVICES"),
        ({"conditions": replace(CONDITIONS, machine="another")}, "other conditions .machine"),
        ({"conditions": replace(CONDITIONS, versions=(("torch", "2.14.0"),))}, "other conditions .versions"),
        ({"workload": replace(WORKLOAD, source=replace(WORKLOAD.source, digest="1" * 64))}, "has changed since"),
        ({"seed": 1}, r"other options \(seed\)"),
        ({"forbid": ("work_removed",)}, r"other options \(forbid\)"),
    ],
)
def test_what_may_not_be_compared_is_refused(change, says):
    _, reference = whole()
    ledger, stations = cut(reference, 10), ScriptedStations()
    with pytest.raises(UsageError, match=says):
        optimize(replace(job(stations, ledger), started=started(**change)))
    assert len(ledger.kept) == 10
    assert stations.asked == []


DESCRIPTION = Description(parameters=(), buffers=(), inputs=(), outputs=())
CODE = (("helper", "1" * 64), ("nets", "2" * 64))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ((("helper", "3" * 64), ("nets", "2" * 64)), r"changed since run r-1 began \(in helper\)"),
        (CODE[:1], r"\(in nets\)"),
        ((*CODE, ("new", "4" * 64)), r"\(in new\)"),
        ((), r"\(in helper, nets\)"),
        (tuple((f"m{i}", "") for i in range(9)), r"\(in helper, m0, m1 and others\).*strop optimize " + WORKLOAD.name),
    ],
)
def test_other_code_is_refused(code, says):
    with pytest.raises(UsageError, match=says):
        check_same_code(replace(DESCRIPTION, code=CODE), replace(DESCRIPTION, code=code), WORKLOAD, "r-1")


def test_the_same_code_and_a_ledger_that_knows_none_are_taken():
    check_same_code(replace(DESCRIPTION, code=CODE), replace(DESCRIPTION, code=CODE), WORKLOAD, "r-1")
    check_same_code(DESCRIPTION, replace(DESCRIPTION, code=CODE), WORKLOAD, "r-1")


def test_a_live_module_is_begun_anew_in_python():
    live = replace(WORKLOAD, source=replace(WORKLOAD.source, kind=SourceKind.LIVE))
    with pytest.raises(UsageError, match=r"strop.optimize\(model, example_inputs\) in Python"):
        check_same_code(replace(DESCRIPTION, code=CODE), DESCRIPTION, live, "r-1")
