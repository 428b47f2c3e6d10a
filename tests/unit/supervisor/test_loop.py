"""The main job with scripted stations: what is written, what is kept, and how each kind of trouble ends."""

import pytest

from strop.errors import BadWorkload, ChildFault, StoreError, UnknownName, UsageError, WorkloadInconclusive
from strop.records.candidate import Origin
from strop.records.event import Admitted, BaselinesMeasured, StopReason
from strop.records.evidence import CrashEvidence, CrashKind, Stage
from strop.records.opportunity import Legality
from strop.searches import SHELF
from strop.supervisor.loop import Job, optimize
from strop.supervisor.result import summarise
from tests.unit.supervisor.makers import proposal, started
from tests.unit.supervisor.scripted import SURVEY, Clock, ListLedger, ScriptedStations


def job(stations, ledger=None, run="r-1", clock=None, listeners=(), **asked):
    return Job(
        run=run,
        started=started(**asked),
        ledger=ledger or ListLedger(),
        stations=stations,
        search=SHELF.get("greedy"),
        listeners=listeners,
        clock=clock or Clock(),
    )


def kinds(ledger, run="r-1"):
    return [event.what.event for event in ledger.events(run)]


def best_recipe(kept):
    return kept.keep.candidate.recipe


def test_a_whole_run():
    stations, ledger = ScriptedStations(fresh={"fold ; fuse": 1.7}), ListLedger()
    result = optimize(job(stations, ledger))
    assert stations.asked[:6] == list(SURVEY)
    assert stations.judged == ["first fold", "first fuse", "first wrong", "first fold ; fuse", "again fold ; fuse"]
    assert kinds(ledger)[:7] == [
        "run_started", "described", "admitted", "captured", "baselines_measured", "profiled", "catalogue_asked",
    ]  # fmt: skip
    assert kinds(ledger)[7:11] == ["proposed", "judged", "decided", "best"]
    assert kinds(ledger)[-1] == "run_ended"
    assert best_recipe(result.kept) == "fold ; fuse"
    assert result.kept.confirmed
    assert result.kept.keep.comparison.speedup == 1.7
    assert (result.proposed, result.failed, result.not_faster, result.inconclusive, result.pending) == (
        4, (("matches_reference", 1),), 0, 0, 0,
    )  # fmt: skip
    assert result.baseline == "default"
    assert dict(result.baselines_failed) == {"reduce-overhead": "needs a GPU"}
    assert (result.reason, result.exit_code) == (StopReason.NOTHING_LEFT, 0)
    assert result.device_seconds_s == 5.0
    assert stations.closed == 1


def test_the_result_is_in_the_ledger_alone():
    ledger = ListLedger()
    result = optimize(job(ScriptedStations(), ledger))
    assert summarise(ledger.events("r-1")) == result
    with pytest.raises(UsageError, match="no such run"):
        summarise(ledger.events("r-2"))


def test_listeners_hear_what_is_in_the_ledger_already():
    ledger, heard = ListLedger(), []

    class Ear:
        def heard(self, event):
            assert ledger.kept[-1] == event
            heard.append(event)

    optimize(job(ScriptedStations(), ledger, listeners=[Ear()]))
    assert heard == ledger.kept


def test_nothing_beats_the_compiler():
    result = optimize(job(ScriptedStations(outcomes={"fold": 0.9, "fuse": 1.0, "wrong": "matches_reference"})))
    assert (result.kept, result.without_work_removed, result.without_compiler) == (None, None, None)
    assert (result.exit_code, result.not_faster, result.failed) == (0, 2, (("matches_reference", 1),))
    assert "everything that applies was tried" in result.because


def test_no_proposals_and_all_forbidden_are_told_apart():
    assert "no transform applies" in optimize(job(ScriptedStations(proposals=()))).because
    assert "--forbid" in optimize(job(ScriptedStations(), forbid=("reassociated",))).because
    with pytest.raises(UnknownName, match="work_removed"):
        optimize(job(ScriptedStations(), forbid=("work_remved",)))


def test_near_the_ceiling_it_says_so():
    proposals = [proposal("fold", 300_000.0, nodes=("a",)), proposal("fuse", 200_000.0, nodes=("b",))]
    result = optimize(job(ScriptedStations(outcomes={"fold": 4.95}, proposals=proposals)))
    assert result.reason is StopReason.NEAR_CEILING
    assert "ceilings" in result.because
    assert result.proposed == 1


def test_inadmissible_workload():
    stations = ScriptedStations()
    stations.admission = Admitted(admissible=False, because="zeros would pass")
    result = optimize(job(stations))
    assert (result.exit_code, result.reason, result.because) == (3, StopReason.INCONCLUSIVE, "zeros would pass")
    assert result.kept is None
    assert stations.asked == ["describe", "admit"]


def test_no_baseline_is_inconclusive():
    stations = ScriptedStations()
    stations.baseline_times = BaselinesMeasured(call_ns=(), failed=(("default", "no compiler"),), best="")
    result = optimize(job(stations))
    assert result.exit_code == 3
    assert "default: no compiler" in result.because


def raising(at, error):
    def hook(name):
        if name == at:
            raise error

    return hook


@pytest.mark.parametrize("station", SURVEY)
def test_a_fault_in_the_survey_ends_the_run_and_is_raised(station):
    ledger, stations = ListLedger(), ScriptedStations(hook=raising(station, BadWorkload("get_inputs is missing")))
    with pytest.raises(BadWorkload):
        optimize(job(stations, ledger))
    result = summarise(ledger.events("r-1"))
    assert (result.reason, result.because, result.exit_code) == (StopReason.FAULT, "get_inputs is missing", 4)
    assert stations.closed == 1


def crash(kind=CrashKind.SIGNAL):
    return ChildFault(CrashEvidence(stage=Stage.VALUES, kind=kind, detail="it ended by signal 11"))


def test_a_child_fault_costs_one_candidate():
    stations = ScriptedStations(hook=raising("first fold", crash()))
    result = optimize(job(stations))
    assert (result.inconclusive, best_recipe(result.kept)) == (1, "fuse")
    assert stations.judged.count("first fold") == 1


def test_infrastructure_is_tried_once_more():
    left = [crash(CrashKind.INFRASTRUCTURE)]

    def hook(name):
        if name == "first fold" and left:
            raise left.pop()

    ledger = ListLedger()
    result = optimize(job(ScriptedStations(hook=hook), ledger))
    assert (result.inconclusive, best_recipe(result.kept)) == (0, "fold ; fuse")
    assert "noted" in kinds(ledger)


def test_a_trusted_side_that_keeps_failing_ends_the_run():
    stations = ScriptedStations(
        proposals=[proposal(name, nodes=("a",)) for name in ("p", "q", "r", "s")],
        hook=lambda name: raising(name, WorkloadInconclusive("throttled"))(name) if name.startswith("first") else None,
    )
    result = optimize(job(stations))
    assert (result.exit_code, len(stations.judged), result.inconclusive) == (3, 3, 3)
    assert "throttled" in result.because


def test_budget_ends_the_search_but_not_the_confirmation():
    clock = Clock()

    def hook(name):
        if name.startswith("first"):
            clock.now_s += 40.0

    stations = ScriptedStations(hook=hook)
    result = optimize(job(stations, clock=clock, budget_s=60.0))
    assert stations.judged == ["first fold", "first fuse", "again fold"]
    assert (result.reason, result.exit_code, result.wall_seconds_s) == (StopReason.BUDGET, 0, 80.0)
    assert result.kept.confirmed


def test_half_of_the_budget_is_the_searchs_however_long_the_survey_took():
    clock = Clock()

    def hook(name):
        clock.now_s += 20.0

    stations = ScriptedStations(hook=hook)
    result = optimize(job(stations, clock=clock, budget_s=60.0))
    # The survey took 120 s; 30 s remain for the search, in which two candidates begin.
    assert stations.judged == ["first fold", "first fuse", "again fold"]
    assert (result.proposed, result.reason) == (2, StopReason.BUDGET)


def test_refuted_candidates_are_never_reported():
    stations = ScriptedStations(fresh={"fold ; fuse": "matches_reference", "fold": 1.0})
    result = optimize(job(stations))
    assert stations.judged[-3:] == ["again fold ; fuse", "again fold", "again fuse"]
    assert best_recipe(result.kept) == "fuse"
    assert dict(result.failed) == {"matches_reference": 2}
    assert result.not_faster == 1
    nothing = optimize(job(ScriptedStations(fresh=dict.fromkeys(("fold ; fuse", "fold", "fuse"), 1.0))))
    assert nothing.kept is None
    assert nothing.not_faster == 3


def slow_confirmations(clock, seconds_s):
    def hook(name):
        if name.startswith("again"):
            clock.now_s += seconds_s

    return hook


def test_confirmations_go_on_while_they_would_end_in_time():
    clock, fresh = Clock(), dict.fromkeys(("fold ; fuse", "fold", "fuse"), 1.0)
    stations = ScriptedStations(hook=slow_confirmations(clock, 50.0), fresh=fresh)
    result = optimize(job(stations, clock=clock, budget_s=20.0))
    assert [name for name in stations.judged if name.startswith("again")] == ["again fold ; fuse", "again fold"]
    assert result.wall_seconds_s <= 20 + 120
    assert (best_recipe(result.kept), result.kept.confirmed, result.exit_code) == ("fuse", False, 0)
    assert "confirmation did not happen" in result.because


def test_the_first_confirmation_is_never_left_out_and_resuming_does_the_rest():
    clock, ledger, fresh = Clock(), ListLedger(), {"fold ; fuse": 1.0}
    stations = ScriptedStations(hook=slow_confirmations(clock, 1000.0), fresh=fresh)
    result = optimize(job(stations, ledger, clock=clock, budget_s=20.0))
    assert [name for name in stations.judged if name.startswith("again")] == ["again fold ; fuse"]
    assert (best_recipe(result.kept), result.kept.confirmed) == ("fold", False)
    stations = ScriptedStations(fresh=fresh)
    result = optimize(job(stations, ledger, clock=clock, budget_s=20.0))
    assert stations.judged == ["again fold"]
    assert (best_recipe(result.kept), result.kept.confirmed) == ("fold", True)
    assert "confirmation" not in result.because


def classes():
    return [
        proposal("less", 400_000.0, legality=(Legality.WORK_REMOVED,)),
        proposal("options", 300_000.0, origin=Origin.COMPILER),
        proposal("fuse", 200_000.0),
    ]


def test_each_class_is_confirmed_where_it_differs():
    outcomes = {"less": 3.0, "options": 2.0, "fuse": 1.5}
    stations = ScriptedStations(outcomes=outcomes, proposals=classes())
    result = optimize(job(stations))
    again = [name for name in stations.judged if name.startswith("again")]
    assert again == ["again less", "again options"]
    assert best_recipe(result.kept) == "less"
    assert best_recipe(result.without_work_removed) == "options"
    assert best_recipe(result.without_compiler) == "less"
    assert all(each.confirmed for each in (result.kept, result.without_work_removed, result.without_compiler))


def test_what_was_measured_at_the_confirmation_decides_the_order():
    outcomes = {"less": 3.0, "options": 2.0, "fuse": 1.5}
    stations = ScriptedStations(outcomes=outcomes, fresh={"less": 1.2, "options": 1.9}, proposals=classes())
    result = optimize(job(stations))
    assert best_recipe(result.kept) == "options"
    assert best_recipe(result.without_compiler) == "less"


@pytest.mark.parametrize("station", [*SURVEY, "first fold", "first fuse", "again fold ; fuse"])
def test_interrupt_at_any_station_leaves_a_run_that_says_so(station):
    ledger, stations = ListLedger(), ScriptedStations(hook=raising(station, KeyboardInterrupt()))
    result = optimize(job(stations, ledger))
    assert (result.exit_code, result.reason, result.interrupted) == (130, StopReason.INTERRUPTED, True)
    assert ledger.kept[-1].what.interrupted
    assert stations.closed == 1
    if station == "first fuse":
        assert best_recipe(result.kept) == "fold"
    if station == "again fold ; fuse":
        assert best_recipe(result.kept) == "fold ; fuse"
    if result.kept is not None:
        assert not result.kept.confirmed
        assert "confirmation did not happen" in result.because


def test_interrupt_between_ledger_and_memory_loses_nothing():
    reference = ListLedger()
    optimize(job(ScriptedStations(), reference))
    for sequence in range(1, len(reference.kept)):
        ledger, rest = ListLedger(), [KeyboardInterrupt()]

        class Ear:
            def heard(self, event, at=sequence, rest=rest):
                if event.sequence == at and rest:
                    raise rest.pop()

        result = optimize(job(ScriptedStations(), ledger, listeners=[Ear()]))
        assert result.exit_code == 130
        assert [event.what for event in ledger.kept[:sequence]] == [event.what for event in reference.kept[:sequence]]
        best = [event.what for event in ledger.kept if event.what.event == "best"]
        assert (result.kept is None) == (not best or best[-1].kept is None)


def test_interrupt_inside_an_append_that_went_through():
    for sequence in range(1, 12):
        ledger, rest = ListLedger(), [KeyboardInterrupt()]
        append = ledger.append

        def torn(run, what, append=append, at=sequence, rest=rest):
            event = append(run, what)
            if event.sequence == at and rest:
                raise rest.pop()
            return event

        ledger.append = torn
        result = optimize(job(ScriptedStations(), ledger))
        assert result.exit_code == 130
        assert [event.sequence for event in ledger.kept] == list(range(1, len(ledger.kept) + 1))
        assert summarise(ledger.events("r-1")) == result


def test_a_ledger_that_refuses_ends_the_run_without_hiding_why():
    ledger, stations = ListLedger(), ScriptedStations()

    def refuse(sequence):
        if sequence >= 12:
            raise StoreError("The disk is full.")

    ledger.hook = refuse
    with pytest.raises(StoreError, match="disk is full"):
        optimize(job(stations, ledger))
    assert len(ledger.kept) == 11
    assert stations.closed == 1


def test_two_processes_on_one_run_are_noticed():
    ledger = ListLedger()

    def meddle(name):
        if name == "first fuse":
            ledger.append("r-1", ledger.kept[1].what)

    with pytest.raises(UsageError, match="another process"):
        optimize(job(ScriptedStations(hook=meddle), ledger))
