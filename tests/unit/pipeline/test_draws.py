"""Workloads that draw random numbers, from admission to the clock; the children are scripted."""

from dataclasses import replace

import pytest
import torch

from strop.checks._base import Rules
from strop.pipeline import draws
from strop.pipeline.cases import full_plan, screening_plan
from strop.pipeline.court import Court
from strop.pipeline.explain import explain
from strop.pipeline.judge import SCREENING, VERIFICATION, Depth, Floor, judge
from strop.pipeline.survey import admit
from strop.records.candidate import Candidate, Origin, RecipeForm
from strop.records.contract import CONTRACTS
from strop.records.evidence import Distribution
from strop.records.recipe import parse_recipe
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Mode
from strop.stats.draws import RUNS
from strop.stats.sequential import Plan
from strop.wire import messages as m
from tests.unit.pipeline.scripted import CONDITIONS, TARGET, WORKLOAD, Script, ScriptedWall, description

RANDOM = ("aten.bernoulli",)
SLOW_NS = 4e7
QUICK = Depth(plan=screening_plan, processes=0, looks=None)
CLOCKED = replace(SCREENING, looks=Plan((8,)), chained=True)
FLOOR = Floor(minimal_bytes=0, product_flop=0)
RULES = Rules(contract=CONTRACTS["fp32"])
CANDIDATE = Candidate(workload_id=WORKLOAD.id, form=RecipeForm(recipe=parse_recipe("a")), origin=Origin.CATALOGUE)


def dropped(x, w, p=0.25):
    return x * w * (torch.rand_like(x) >= p) / (1 - p)


def other_way(x, w):
    return torch.where(torch.bernoulli(torch.full_like(x, 0.75)) > 0, x / 0.75, 0.0) * w


def shared(x, w):
    return x * w * (torch.rand_like(x[:1]) >= 0.25) / 0.75


def wall(reference=dropped, candidate=dropped, mode=Mode.TRAIN):
    theirs = Script(compute=reference, call_ns=SLOW_NS)
    return ScriptedWall(
        description=description(random_ops=RANDOM, notes=("n",), mode=mode),
        reference=reference,
        eager=theirs,
        default=theirs,
        candidate=Script(compute=candidate, call_ns=SLOW_NS),
    )


def court(scripted):
    return Court(wall=scripted, workload=WORKLOAD, contract=CONTRACTS["fp32"], target=TARGET)


def judged(scripted, depth=QUICK):
    torch.manual_seed(5)
    with court(scripted) as trusted:
        return judge(trusted, CANDIDATE, RULES, CONDITIONS, FLOOR, depth)


def test_the_same_distribution_passes_and_says_so():
    verdict = judged(wall(candidate=other_way)).verdict
    assert verdict.outcome == "passed", verdict.objection
    assert verdict.scope.by_distribution and verdict.error_ratio is None


@pytest.mark.parametrize("candidate", [shared, lambda x, w: dropped(x, w, 0.5), lambda x, w: x * w])
def test_another_distribution_fails_with_a_sentence(candidate):
    objection = judged(wall(candidate=candidate)).verdict.objection
    assert objection.check == "matches_reference"
    assert "out is drawn from another distribution" in objection.because and "Chance makes such" in objection.because


def test_values_that_were_never_drawn_fail_by_the_bound():
    objection = judged(wall(candidate=lambda x, w: dropped(x, w) * (1 + 1e-5))).verdict.objection
    assert objection.check == "matches_reference" and "of the error against fp64" in objection.because


def test_random_numbers_that_change_nothing_are_judged_by_value():
    verdict = judged(wall(reference=lambda x, w: x * w, candidate=lambda x, w: w * x)).verdict
    assert verdict.outcome == "passed" and not verdict.scope.by_distribution
    assert verdict.error_ratio is not None


def test_what_the_baseline_does_too_is_forgiven():
    def more_often(x, w):
        return x * w * (torch.rand_like(x) >= 0.4) / 0.75

    scripted = wall(candidate=more_often)
    assert judged(scripted).verdict.outcome == "failed"
    scripted.scripts["eager"] = Script(compute=more_often)
    assert judged(scripted).verdict.outcome == "passed"


def test_every_case_is_many_runs_and_none_is_about_rounding():
    scripted = wall()
    judged(scripted, VERIFICATION)
    seeds = [each.seed for _, each in scripted.asked if isinstance(each, m.Expect)]
    plan = full_plan(scripted.description)
    drawn = {(case.index, case.distribution, case.parameters_draw) for case in (*plan.values, *plan.parameters)}
    drawn |= {(case.index, case.distribution, case.parameters_draw) for case in plan.state}
    assert seeds.count(None) == len(drawn) and len(set(seeds)) == 1 + RUNS * len(drawn)
    assert {Distribution.SPECIAL, Distribution.CONSTANT_ROWS}.isdisjoint(case.distribution for case in plan.values)


def test_admission_says_how_it_is_judged():
    with court(wall()) as trusted:
        admitted = admit(trusted)
    assert admitted.admissible, admitted.because
    assert admitted.notes[0] == "n" and "aten.bernoulli" in admitted.notes[1] and "distribution" in admitted.notes[1]


@pytest.mark.parametrize(("mode", "fix"), [(Mode.TRAIN, True), (Mode.EVAL, False)])
def test_a_workload_whose_scatter_could_be_any_is_not_admitted(mode, fix):
    scripted = wall(reference=lambda x, w: x * 0 + w.sum() * torch.randn(1, dtype=x.dtype), mode=mode)
    with court(scripted) as trusted:
        admitted = admit(trusted)
    assert not admitted.admissible
    assert "scatter half as far again would pass" in admitted.because
    assert ("--mode eval" in admitted.because) is fix


def test_a_draw_that_is_not_finite_is_repeated():
    torch.manual_seed(3)
    bad = iter([True])

    def once_infinite(x, w):
        return dropped(x, w) / (0.0 if x.dtype is torch.float64 and next(bad, False) else 1.0)

    assert judged(wall(reference=once_infinite)).verdict.outcome == "passed"


def test_answers_on_the_clock_decide_together():
    honest = judged(wall(), CLOCKED)
    assert honest.verdict.outcome == "passed", honest.verdict.objection
    calls = iter(range(1 << 30))

    def at_first(x, w):
        return dropped(x, w, 0.25 if next(calls) < 340 else 0.0)

    timed = judged(wall(candidate=at_first), CLOCKED)
    assert timed.verdict.objection.check == "answers_on_the_clock"
    assert "single answers are larger or smaller" in timed.verdict.objection.because


def test_there_is_nothing_to_explain_call_by_call():
    with court(wall()) as trusted:
        found = explain(trusted, CANDIDATE, RULES, lambda line: None)
    assert not found.rows and "no error call by call" in found.because


def test_of_a_large_result_whole_rows_and_columns_are_looked_at(monkeypatch):
    monkeypatch.setattr(draws, "MOST_ELEMENTS", 40)
    rows, columns, last = draws._places([4, 100, 2])
    assert rows is None and last is None and len(columns) == 4
    assert draws._excerpt(torch.rand(4, 100, 2), (rows, columns, last)).shape == (4, len(columns), 2)
    assert draws._places([5, 2]) == (None, None)


def test_poisoned_booleans_are_neither_true_nor_false():
    leaf = replace(description().outputs[0], tensor=TensorSpec(shape=(3,), dtype=DType.BOOL))
    values = torch.tensor([0, 1, 171], dtype=torch.uint8).view(torch.bool)
    assert draws._looked_at(leaf, (None,), {"out": values}).tolist() == [0.0, 1.0, 171.0]
    assert draws._rounding(leaf, {"out": values}, {"out": values}) == 0.0
