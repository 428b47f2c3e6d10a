"""A story tells what became of every candidate, in words, from the events alone."""

import pytest

from strop.records.decision import Repair
from strop.records.event import Decided, Judged, Proposed
from strop.report.story import CandidateStory, told
from tests.unit.report import stories
from tests.unit.supervisor.makers import candidate, verdict


def fates(happenings):
    return {each.label: each.fate for each in told(stories.events(happenings)).candidates.values()}


def test_every_candidate_has_a_fate():
    assert fates(stories.happy()) == {
        "fold": "kept",
        "lie": "failed",
        "idle": "not faster",
        "lucky": "not faster",
    }


def test_a_confirmation_overrules_the_screening():
    screened = stories.tried("fold", 1.5)
    assert fates([*stories.survey(), *screened]) == {"fold": "to be confirmed"}
    assert fates([*stories.survey(), *stories.tried("fold", 1.5, confirmed="repeats_itself")]) == {"fold": "failed"}


def test_a_candidate_in_work_has_no_reason():
    story = told(stories.events([*stories.survey(), Proposed(candidate=candidate("fold"))]))
    (only,) = story.candidates.values()
    assert (only.fate, only.reason, only.because, only.comparison) == ("in work", "", "", None)


@pytest.mark.parametrize(
    ("findings", "reason"), [({"failed": "keeps_interface"}, "keeps_interface"), ({}, "build"), (None, "build")]
)
def test_what_is_to_be_mended_names_the_check_or_the_build(findings, reason):
    what = candidate("fold")
    repair = Repair(candidate=what, because="add a class")
    happened = [Proposed(candidate=what)]
    happened += [] if findings is None else [Judged(verdict=verdict(what, **findings))]
    (only,) = told(stories.events([*happened, Decided(decision=repair)])).candidates.values()
    assert (only.fate, only.reason, only.because) == ("to be mended", reason, "add a class")


def test_a_resumed_run_has_not_ended():
    before = stories.events(stories.beaten())
    again = stories.events([*stories.beaten(), stories.started()])
    assert told(before).ended is not None
    assert told(again).ended is None


def test_source_text_is_called_by_its_idea_or_id():
    what = candidate("")
    assert CandidateStory(what).label == f"source text {what.id}"


def test_an_inadmissible_workload_says_why():
    story = told(stories.events(stories.inadmissible()))
    assert story.inadmissible == "A trivial answer would pass: zeros"
    assert told(stories.events(stories.happy())).inadmissible == ""


def test_a_story_without_events_knows_nothing():
    story = told([])
    assert (story.name, story.run, story.candidates, story.baseline_ns()) == ("", "", {}, {})
