"""A campaign's rows and scores are what the runs' events say, with nothing left out and nothing made up."""

import json
from io import StringIO

import pytest
from rich.console import Console

from strop.records.event import KERNELBENCH_RULE, Best, Decided, Proposed, RuleAsked, StopReason
from strop.records.opportunity import Legality, Origin
from strop.report.campaign import Row, campaign_json, row_json, score_json, scores_json
from strop.report.jsons import text
from strop.report.scoreboard import campaign_report
from strop.report.story import told
from strop.supervisor.result import summarise
from tests.unit.report import stories
from tests.unit.supervisor.makers import CONDITIONS, TARGET, candidate, keep


def row(happened=None, **more):
    told_events = stories.events(happened) if happened is not None else None
    return Row(
        **(
            {
                "workload": "kernelbench:1/19",
                "suite": "kernelbench",
                "contract": "fp32",
                "level": 1,
                "problem_id": 19,
                "story": told(told_events) if told_events else None,
                "result": summarise(told_events) if told_events else None,
            }
            | more
        )
    )


def kept_run(speedup, **changes):
    """One candidate, kept and confirmed."""
    found = keep("fold", speedup, **changes)
    what = found.candidate
    best = Best(kept=found, without_work_removed=None, without_compiler=None)
    decided = [Decided(decision=found), Decided(decision=found, final=True)]
    return [*stories.survey(), Proposed(candidate=what), *decided, best, stories.ended()]


def cut(happened, reason):
    """The same run, ended for another reason."""
    return [*happened[:-1], stories.ended(reason, "for a reason")]


CASES = {
    "kept": (stories.happy(), "kept", "everything that applies was tried"),
    "beaten": (stories.beaten(), "none", "everything that applies was tried"),
    "inadmissible": (stories.inadmissible(), "inadmissible", "A trivial answer would pass: zeros"),
    "a fault": (cut(stories.happy(), StopReason.FAULT), "failed", "for a reason"),
    "no baseline": (cut(stories.survey()[:4], StopReason.INCONCLUSIVE), "failed", "for a reason"),
    "interrupted": (cut(stories.happy(), StopReason.INTERRUPTED), "not_run", "it was interrupted"),
    "no end": (stories.happy()[:-1], "not_run", "has no end yet"),
    "not begun": (None, "not_run", "it was not begun"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_status_of_a_run(name):
    happened, status, because = CASES[name]
    value = row_json(row(happened))
    assert value["status"] == status and because in value["because"]
    assert (value["kept"] is not None) == (status == "kept")
    assert value["kernelbench_rule"] == "not_run"
    json.dumps(value)


def test_a_kept_row_holds_the_confirmation():
    value = row_json(row(stories.happy()))
    assert value["kept"]["speedup"] == 1.4 and value["kept"]["confirmed"] is True
    assert value["baselines_ns"] == {"eager": 2e6, "default": 1e6} and value["baseline"] == "default"
    assert value["failed"] == {"matches_reference": 1}
    assert value["device_seconds"] == 40.0


def test_what_was_not_confirmed_is_not_kept():
    happened = [*stories.survey(), *stories.tried("fold", 1.5), stories.ended(StopReason.BUDGET)]
    value = row_json(row(happened))
    assert (value["status"], value["kept"], value["without_work_removed"]) == ("none", None, None)
    assert score_json([row(happened)])["geomean"] == 1.0


def test_trouble_goes_before_what_the_ledger_holds():
    assert row_json(row(stories.happy(), trouble="the code changed"))["status"] == "failed"
    assert score_json([row(stories.happy(), trouble="the code changed")])["geomean"] == 1.0


@pytest.mark.parametrize(("passed", "word"), [(True, "passed"), (False, "failed")])
def test_kernelbench_s_rule_is_about_what_is_kept(passed, word):
    about = [RuleAsked(candidate_id=candidate("lucky").id, rule=KERNELBENCH_RULE, passed=not passed)]
    about += [RuleAsked(candidate_id=candidate("fold").id, rule=KERNELBENCH_RULE, passed=passed, device_seconds_s=2.0)]
    value = row_json(row([*stories.happy(), *about]))
    assert value["kernelbench_rule"] == word
    assert (value["device_seconds"], value["wall_seconds"]) == (42.0, 75.0)


def test_a_score_counts_everything_that_came_to_an_end():
    rows = [row(kept_run(4.0)), row(stories.beaten()), row(stories.inadmissible()), row(trouble="broken"), row()]
    score = score_json(rows)
    assert score["geomean"] == pytest.approx(4.0**0.25)
    assert score["geomean_with_not_run"] == pytest.approx(4.0**0.2)
    assert score["low"] <= score["geomean"] <= score["high"]
    counts = {name: score[name] for name in ("workloads", "improved", "unchanged", "inadmissible", "failed", "not_run")}
    assert counts == {
        "workloads": 4,
        "improved": 1,
        "unchanged": 1,
        "inadmissible": 1,
        "failed": 1,
        "not_run": 1,
    }


def test_algebra_and_the_compiler_are_scored_apart():
    rows = [
        row(kept_run(4.0, legality=(Legality.WORK_REMOVED,))),
        row(kept_run(2.0, origin=Origin.COMPILER)),
        row(kept_run(1.5)),
    ]
    score = score_json(rows)
    assert score["geomean"] == pytest.approx((4.0 * 2.0 * 1.5) ** (1 / 3))
    assert score["without_work_removed"] == pytest.approx((2.0 * 1.5) ** (1 / 3))
    assert score["without_compiler"] == pytest.approx((4.0 * 1.5) ** (1 / 3))
    assert row_json(rows[0])["without_work_removed"] is None
    assert row_json(rows[1])["without_compiler"] is None


def test_scores_of_levels_suites_and_contracts():
    rows = [
        row(kept_run(4.0)),
        row(stories.beaten(), level=2),
        row(kept_run(2.0), level=None, suite="bf16", contract="bf16"),
    ]
    scores = scores_json(rows)
    apart = ["suite:kernelbench", "contract:fp32", "level2", "suite:bf16", "contract:bf16"]
    assert list(scores) == ["all", "level1", *apart]
    assert scores["level1"]["geomean"] == pytest.approx(4.0)
    assert scores["level2"]["geomean"] == 1.0
    assert scores["suite:kernelbench"]["workloads"] == 2
    assert scores["contract:bf16"]["geomean"] == pytest.approx(2.0)
    assert list(scores_json(rows[:1])) == ["all", "level1"]


def test_nothing_came_to_an_end_yet():
    score = score_json([row(), row()])
    assert (score["geomean"], score["low"], score["workloads"], score["not_run"]) == (None, None, 0, 2)
    assert score["geomean_with_not_run"] == 1.0


def campaign(*rows):
    return campaign_json(
        rows, target=TARGET, conditions=CONDITIONS, identity={"model": "m"}, started="2030", command="strop bench x"
    )


def test_the_whole_has_the_keys_that_scripts_rely_on():
    value = campaign(row(stories.happy()), row(stories.beaten(), suite="own", level=None, problem_id=None))
    wanted = {"schema", "suite", "contract", "machine", "versions", "started", "device_seconds", "rows", "scores"}
    assert wanted <= set(value)
    assert (value["suite"], value["contract"], value["schema"]) == ("kernelbench + own", "fp32", 1)
    assert value["device_seconds"] == 80.0 and value["finished"] is True
    assert value["versions"] == {"torch": "2.13.0"} and value["machine"]["identity"] == {"model": "m"}
    assert json.loads(text(value, indent=1)) == json.loads(text(value))


def test_the_report_for_people():
    console = Console(width=200, record=True, file=StringIO())
    console.print(campaign_report(campaign(row(stories.happy()), row(stories.inadmissible()), row())))
    shown = console.export_text()
    assert "Geometric mean 1.183×" in shown and "over 2 workloads, 1 improved, 1 not run." in shown
    assert "1.400×" in shown and "zeros" in shown
    assert "The same command goes on" in shown


def test_the_report_of_nothing():
    console = Console(width=200, record=True, file=StringIO())
    console.print(campaign_report(campaign(row())))
    assert "No workload came to an end yet, 1 not run." in console.export_text()


def test_a_kept_candidate_that_is_source_text_is_named_by_its_id():
    happened = kept_run(2.0)
    value = row_json(row(happened))
    value["kept"]["recipe"] = None
    whole = campaign(row(happened)) | {"rows": [value]}
    console = Console(width=200, record=True, file=StringIO())
    console.print(campaign_report(whole))
    assert value["kept"]["candidate_id"] in console.export_text()
