"""A baseline that is the same code as another one is listed with that one's time, and every reader is told so."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from strop.records.event import BaselinesMeasured, Challenged
from strop.report import jsons
from strop.report.live import line_of
from strop.report.pages import html_page, markdown_page
from strop.report.story import told
from strop.report.terminal import baselines_table, run_report
from strop.supervisor.result import summarise
from tests.unit.report import stories
from tests.unit.supervisor.makers import candidate, comparison

TIMES = (("eager", 2e6), ("default", 1e6), ("reduce-overhead", 1e6))
SAYS = "the same code as torch.compile here, measured once"


@pytest.fixture
def run():
    """Story and result of a run on a target where both modes are one."""

    def twin(what):
        if not isinstance(what, BaselinesMeasured):
            return what
        return replace(what, call_ns=TIMES, failed=(), best="default", same=(("reduce-overhead", "default"),))

    happened = stories.events([twin(what) for what in stories.happy()])
    return told(happened), summarise(happened)


def printed(renderable):
    console = Console(file=io.StringIO(), width=200)
    console.print(renderable)
    return console.file.getvalue()


def test_json_lists_both_and_says_which_is_which(run):
    story, result = run
    for value in (jsons.optimize_json(result), jsons.profile_json(story)):
        assert value["baselines_ns"] == dict(TIMES)
        assert value["baselines_same"] == {"reduce-overhead": "default"}
        assert value["baseline"] == "default"
    plain = stories.events(stories.happy())
    assert jsons.optimize_json(summarise(plain))["baselines_same"] == {}


def test_people_are_told_too(run):
    story, result = run
    for text in (printed(baselines_table(story)), printed(run_report(story, result)), html_page([run])):
        assert SAYS in text
    assert "; reduce-overhead is default here" in line_of(story.baselines)


def test_each_baseline_has_its_own_time_in_markdown(run):
    rows = [line for line in markdown_page(*run).splitlines() if line.startswith(("| eager", "| torch.compile"))]
    assert [row.split("|")[2].strip() for row in rows[:3]] == ["2 ms", "1 ms", "1 ms"]
    assert SAYS in rows[2]


def challenged(**found):
    """Story and result of a run whose winner met a mode that takes long to build."""
    what = Challenged(mode="max-autotune", candidate_id=candidate("fold").id, **found)
    happened = stories.happy()
    place = next(i for i, each in enumerate(happened) if each.event == "decided" and each.final) + 1
    events = stories.events([*happened[:place], what, *happened[place:]])
    return (told(events), summarise(events)), what


def test_a_mode_that_did_not_finish_is_told_everywhere():
    (story, result), what = challenged(because="did not finish in 60 s")
    assert jsons.optimize_json(result)["baselines_failed"]["max-autotune"] == "did not finish in 60 s"
    assert jsons.optimize_json(result)["kept"]["confirmed"]
    assert line_of(what).strip() == "max-autotune: did not finish in 60 s"
    for text in (printed(run_report(story, result)), html_page([(story, result)]), markdown_page(story, result)):
        assert "mode max-autotune" in text and "did not finish in 60 s" in text


def test_a_mode_that_is_faster_is_the_one_to_beat():
    found = replace(comparison(1.2), baseline="max-autotune", baseline_ns=9e5)
    (story, result), what = challenged(comparison=found, outdoes=True)
    value = jsons.optimize_json(result)
    assert (value["baseline"], value["baselines_ns"]["max-autotune"], value["kept"]["speedup"]) == (
        "max-autotune", 9e5, 1.2,
    )  # fmt: skip
    assert line_of(what).strip().startswith("max-autotune: 1.2")
    assert "over torch.compile (mode max-autotune)" in printed(run_report(story, result))
    assert story.candidates[candidate("fold").id].comparison.baseline == "max-autotune"
