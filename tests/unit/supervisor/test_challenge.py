"""What would be kept meets the mode that takes long to build: kept over it, kept without it, or not kept at all."""

from dataclasses import replace

import pytest

from strop.records.decision import Drop, Keep
from strop.records.event import Challenged
from strop.report.jsons import optimize_json
from strop.supervisor.best import overtaken
from strop.supervisor.loop import Job, optimize
from strop.supervisor.result import summarise
from tests.unit.supervisor.makers import (
    BASELINE_NS,
    TARGET,
    candidate,
    comparison,
    decide,
    judgement,
    keep,
    request,
    started,
)
from tests.unit.supervisor.scripted import Clock, ListLedger, ScriptedStations
from tests.unit.supervisor.test_loop import best_recipe, job, kinds
from tests.unit.supervisor.test_resume import cut, decisions

MODE = "max-autotune"
SLOW = replace(TARGET, slow_modes=(MODE,))
LATE = "did not finish in 60 s"
# A part alone is all but as fast as the whole.
CLOSE = {"fold": 1.799, "fuse": 1.3, "wrong": "matches_reference", "fold ; fuse": 1.8}


def sitting(stations, ledger=None, **asked):
    made = job(stations, ledger or ListLedger(), **asked)
    return replace(made, started=replace(made.started, target=SLOW))


def challenges(stations):
    return [name for name in stations.asked if " against " in name]


def test_a_mode_that_does_not_finish_is_said_and_the_claim_stands():
    stations, ledger = ScriptedStations(), ListLedger()
    result = optimize(sitting(stations, ledger))
    assert challenges(stations) == [f"{MODE} against fold ; fuse"]
    assert kinds(ledger)[-3:] == ["decided", "challenged", "run_ended"]
    assert dict(result.baselines_failed)[MODE] == LATE
    assert (result.baseline, best_recipe(result.kept)) == ("default", "fold ; fuse")
    assert result.kept.confirmed and result.kept.keep.comparison.baseline == "default"
    assert optimize_json(result)["baselines_failed"][MODE] == LATE


def test_a_slower_mode_changes_nothing_but_is_listed():
    result = optimize(sitting(ScriptedStations(rivals={"fold ; fuse": 2.5})))
    assert (result.baseline, result.kept.keep.comparison.speedup) == ("default", 1.8)
    assert dict(result.baselines_ns)[MODE] == pytest.approx(BASELINE_NS / 1.8 * 2.5)
    assert MODE not in dict(result.baselines_failed)


def test_a_faster_mode_becomes_what_is_claimed_over():
    result = optimize(sitting(ScriptedStations(rivals={"fold ; fuse": 1.2})))
    assert (result.baseline, best_recipe(result.kept)) == (MODE, "fold ; fuse")
    assert (result.kept.keep.comparison.baseline, result.kept.keep.comparison.speedup) == (MODE, 1.2)
    assert result.kept.confirmed


def test_what_a_mode_outdoes_is_not_kept_and_the_next_best_is_asked():
    stations = ScriptedStations(outcomes=CLOSE, rivals={"fold ; fuse": 0.997, "fold": 0.997})
    ledger = ListLedger()
    result = optimize(sitting(stations, ledger))
    assert challenges(stations) == [f"{MODE} against {recipe}" for recipe in ("fold ; fuse", "fold")]
    assert (result.kept, result.baseline, result.not_faster) == (None, MODE, 3)
    assert result.exit_code == 0
    assert summarise(ledger.events("r-1")) == result


def test_what_a_mode_has_overtaken_is_settled_without_being_judged_again():
    stations, ledger = ScriptedStations(rivals={"fold ; fuse": 0.9}), ListLedger()
    result = optimize(sitting(stations, ledger))
    assert challenges(stations) == [f"{MODE} against fold ; fuse"]
    assert [name for name in stations.judged if name.startswith("again")] == ["again fold ; fuse"]
    assert (result.kept, result.not_faster) == (None, 3)
    final, last = decisions(ledger)[-1]
    assert final
    assert "max-autotune takes 0.5 ms, and this took 0.7654 ms at the least" in last.because


def test_what_may_still_win_is_not_overtaken():
    rival = replace(comparison(0.9), baseline=MODE, baseline_ns=500_000.0)
    lost = Challenged(mode=MODE, candidate_id="c-0", comparison=rival, outdoes=True)
    assert overtaken(keep("fold", 1.9), [lost]) is not None
    assert overtaken(keep("fold", 1.999), [lost]) is None, "its interval reaches beyond the mode's time"
    assert overtaken(keep("fold", 1.9), [replace(lost, outdoes=False)]) is None
    assert overtaken(keep("fold", 1.9), [Challenged(mode=MODE, candidate_id="c-0", because=LATE)]) is None


def test_each_class_is_held_against_it_but_nothing_twice():
    stations = ScriptedStations(rivals={"fold ; fuse": 1.5})
    optimize(sitting(stations))
    assert len(challenges(stations)) == 1


def test_who_names_the_baselines_names_all_of_them():
    stations = ScriptedStations()
    optimize(
        Job(
            run="r-1",
            started=started(target=SLOW, request=request(baselines=("default",))),
            ledger=ListLedger(),
            stations=stations,
            search=job(stations).search,
            clock=Clock(),
        )
    )
    assert challenges(stations) == []


def test_without_a_winner_nothing_is_built():
    stations = ScriptedStations(outcomes={"fold": 1.0, "fuse": 1.0})
    optimize(sitting(stations))
    assert challenges(stations) == []


@pytest.mark.parametrize("rivals", [{}, {"fold ; fuse": 1.2}, {"fold ; fuse": 0.9, "fold": 1.1}])
def test_killed_after_any_event_it_comes_to_the_same_result(rivals):
    reference = ListLedger()
    result = optimize(sitting(ScriptedStations(rivals=rivals), reference))
    known = sum(isinstance(event.what, Challenged) for event in reference.kept)
    for length in range(7, len(reference.kept)):
        ledger = cut(reference, length)
        before = sum(isinstance(event.what, Challenged) for event in ledger.kept)
        stations = ScriptedStations(rivals=rivals)
        resumed = optimize(sitting(stations, ledger))
        assert (resumed.kept, resumed.baseline, resumed.failed) == (result.kept, result.baseline, result.failed)
        assert (resumed.baselines_ns, resumed.baselines_failed) == (result.baselines_ns, result.baselines_failed)
        assert decisions(ledger) == decisions(reference)
        assert len(challenges(stations)) == known - before


def test_a_challenge_settles_only_what_it_may():
    kept = keep("fold", 1.5)
    name = kept.candidate.id
    slower = replace(comparison(1.7), baseline=MODE)
    assert Challenged(mode=MODE, candidate_id=name, because=LATE).settle(kept) is kept
    assert Challenged(mode=MODE, candidate_id=name, comparison=slower).settle(kept) is kept
    claimed = Challenged(mode=MODE, candidate_id=name, comparison=replace(slower, speedup=1.1), outdoes=True)
    settled = claimed.settle(kept)
    assert isinstance(settled, Keep) and settled.comparison.speedup == 1.1
    lost = Challenged(mode=MODE, candidate_id=name, comparison=comparison(0.9), outdoes=True).settle(kept)
    assert isinstance(lost, Drop) and lost.reason == "not_faster" and MODE in lost.because
    what = candidate("fold")
    dropped = decide(what, judgement(what, "matches_reference"))
    assert claimed.settle(dropped) is dropped


def test_a_mode_that_was_timed_once_is_not_listed_as_failed_later():
    stations = ScriptedStations(outcomes=CLOSE, rivals={"fold ; fuse": 0.997, "fold": "could not be timed"})
    result = optimize(sitting(stations))
    assert challenges(stations) == [f"{MODE} against fold ; fuse", f"{MODE} against fold"]
    assert MODE in dict(result.baselines_ns) and MODE not in dict(result.baselines_failed)
    assert best_recipe(result.kept) == "fold"
