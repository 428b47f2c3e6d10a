"""What holds for every check on the shelf: its examples are true, its stages make sense, its findings are its own."""

from typing import get_args

import pytest

from strop.checks import SHELF
from strop.checks._base import Rules
from strop.records.contract import CONTRACTS
from strop.records.evidence import Evidence, Stage
from strop.records.verdict import Failed, Finding, Inconclusive, Passed

RULES = Rules(contract=CONTRACTS["fp32"])
CHECKS = list(SHELF)
EXAMPLES = [
    pytest.param(check, example, id=f"{check.name}-{n}") for check in CHECKS for n, example in enumerate(check.examples)
]


def test_the_shelf_holds_the_cascade():
    assert {check.name for check in CHECKS} >= {
        "aliases_nothing",
        "answers_on_the_clock",
        "builds",
        "chain_agrees",
        "follows_parameters",
        "keeps_interface",
        "leaves_inputs_alone",
        "matches_reference",
        "obeys_physics",
        "repeats_itself",
        "static_policy",
        "survives",
        "updates_state",
        "user_accepts",
    }


@pytest.mark.parametrize(("check", "example"), EXAMPLES)
def test_an_example_gives_the_outcome_that_it_promises(check, example):
    finding = check.judge(example.evidence, RULES)
    assert finding.outcome == example.outcome
    assert finding.check == check.name


@pytest.mark.parametrize(("check", "example"), EXAMPLES)
def test_judging_is_a_function_of_the_evidence(check, example):
    assert check.judge(example.evidence, RULES) == check.judge(example.evidence, RULES)


@pytest.mark.parametrize(("check", "example"), EXAMPLES)
def test_whoever_fails_is_told_what_to_do(check, example):
    finding = check.judge(example.evidence, RULES)
    if isinstance(finding, Failed | Inconclusive):
        assert len(finding.because) > 30
        assert finding.because.endswith(".")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_shows_what_passes_and_what_does_not(check):
    outcomes = {example.outcome for example in check.examples}
    assert outcomes <= {"passed", "failed", "inconclusive", "skipped"}
    if check.only_notes:
        assert outcomes <= {"passed", "skipped"}
    else:
        assert "failed" in outcomes
    assert len({example.says for example in check.examples}) == len(check.examples)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_judges_kinds_of_evidence_that_exist(check):
    kinds = check.judges if isinstance(check.judges, tuple) else (check.judges,)
    assert set(kinds) <= set(get_args(Evidence))
    assert check.stages
    assert all(isinstance(example.evidence, kinds) for example in check.examples)
    for example in check.examples:
        stage = getattr(example.evidence, "stage", check.stages[0])
        assert stage in check.stages


def test_every_stage_has_a_judge():
    assert {stage for check in CHECKS for stage in check.stages} == set(Stage)


def test_findings_are_records_of_the_verdict():
    for check in CHECKS:
        for example in check.examples:
            assert isinstance(check.judge(example.evidence, RULES), get_args(Finding))
            assert isinstance(check.summary, str)
            assert check.summary.endswith(".")


def test_passed_is_nothing_but_passed():
    assert Passed(check="x").outcome == "passed"
