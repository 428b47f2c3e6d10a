"""The bound: what it allows, what it refuses, and how it says so."""

from dataclasses import replace

import pytest

from strop.checks._base import Rules
from strop.checks._bound import allowed, breach, judge_leaves
from strop.checks._examples import BEYOND, MASKED, UNEQUAL, WITHIN, leaf, values
from strop.checks.matches_reference import ITEM as MATCHES
from strop.checks.repeats_itself import ITEM as REPEATS
from strop.checks.updates_state import ITEM as UPDATES
from strop.records.contract import CONTRACTS
from strop.records.evidence import Circumstance, Distribution, ErrorQuantiles, Stage

RULES = Rules(contract=CONTRACTS["fp32"])
NORMAL = Distribution.NORMAL


def quantiles(p50, p99, p999, top):
    return ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=top)


def test_twice_the_larger_of_both_plus_the_floor():
    one = replace(WITHIN, floor=0.5, baseline=quantiles(1.0, 1.0, 1.0, 9.0), honest=quantiles(0.5, 2.0, 3.0, 4.0))
    assert allowed(one, 2.0) == (2.5, 4.5, 6.5, 18.5)


def test_exactly_on_the_bound_is_within():
    one = replace(WITHIN, floor=0.0, baseline=quantiles(1, 2, 3, 4), honest=quantiles(0, 0, 0, 0))
    assert breach(replace(one, candidate=quantiles(2, 4, 6, 8)), 2.0, NORMAL) == ""


@pytest.mark.parametrize("place", range(4))
def test_each_quantile_alone_breaks_it(place):
    one = replace(WITHIN, floor=0.0, baseline=quantiles(1, 2, 3, 4), honest=quantiles(0, 0, 0, 0))
    figures = [1.0, 2.0, 3.0, 4.0]
    figures[place] *= 2.01
    said = breach(replace(one, candidate=quantiles(*figures)), 2.0, NORMAL)
    name = ("median", "99 % quantile", "99.9 % quantile", "maximum")[place]
    assert f"the {name} of the error" in said
    assert f"{figures[place]:.3g}" in said


@pytest.mark.parametrize("place", range(4))
def test_nan_breaks_it_in_any_place(place):
    figures = [0.0] * 4
    figures[place] = float("nan")
    assert breach(replace(WITHIN, candidate=quantiles(*figures)), 2.0, NORMAL)


def test_a_bound_that_is_nan_passes_nobody():
    assert breach(replace(WITHIN, floor=float("nan")), 2.0, NORMAL)


def test_the_factor_is_the_judges():
    double = leaf(candidate=3e-7, baseline=1e-7, honest=0.0)
    assert breach(double, 2.0, NORMAL)
    assert breach(double, 4.0, NORMAL) == ""


def test_equal_terms_may_err_further_and_not_by_orders_of_magnitude():
    systematic = leaf(candidate=2e-6, baseline=1e-7, honest=2e-7)
    assert breach(systematic, 2.0, NORMAL)
    assert breach(systematic, 2.0, Distribution.CONSTANT_ROWS) == ""
    assert breach(BEYOND, 2.0, Distribution.CONSTANT_ROWS)


def test_masks_may_differ_where_the_baseline_differs_as_much():
    assert "12 of 4096 elements are NaN or Inf" in breach(MASKED, 2.0, NORMAL)
    assert breach(replace(MASKED, baseline_mask_mismatches=12), 2.0, NORMAL) == ""


def test_integers_may_differ_as_honest_rounding_makes_them_differ():
    assert "3 of 4096 elements differ; 0 may" in breach(UNEQUAL, 2.0, NORMAL)
    assert breach(replace(UNEQUAL, honest_exact_mismatches=2), 2.0, NORMAL) == ""
    assert breach(replace(UNEQUAL, baseline_exact_mismatches=1), 2.0, NORMAL)


@pytest.mark.parametrize("distribution", list(Distribution))
def test_only_inputs_with_ties_forgive_another_index(distribution):
    tied = {
        Distribution.TIES,
        Distribution.CONSTANT_ROWS,
        Distribution.HALF_ZEROS,
        Distribution.SMALL_INTEGERS,
        Distribution.SPECIAL,
    }
    assert bool(breach(UNEQUAL, 2.0, distribution)) is (distribution not in tied)


@pytest.mark.parametrize("distribution", list(Distribution))
def test_where_nothing_is_chosen_a_border_belongs_to_one_side(distribution):
    forgiven = {Distribution.CONSTANT_ROWS, Distribution.SPECIAL}
    assert bool(breach(replace(UNEQUAL, chosen=False), 2.0, distribution)) is (distribution not in forgiven)


@pytest.mark.parametrize("distribution", list(Distribution))
def test_every_distribution_has_words(distribution):
    finding = MATCHES.judge(values(Stage.VALUES, BEYOND, distribution=distribution), RULES)
    assert finding.because.startswith("Wrong values, on ")
    assert finding.because.count("[3, 17]: got 0.25, expected 1.5") == 1


@pytest.mark.parametrize("circumstance", list(Circumstance))
def test_every_circumstance_has_words(circumstance):
    finding = REPEATS.judge(values(Stage.STATE, BEYOND, circumstance=circumstance), RULES)
    assert finding.because.startswith("Wrong ")


def test_outputs_and_state_are_judged_apart():
    wrong_state = replace(BEYOND, path="state:buffers:n")
    evidence = values(Stage.VALUES, WITHIN, wrong_state)
    assert MATCHES.judge(evidence, RULES).outcome == "passed"
    assert UPDATES.judge(evidence, RULES).outcome == "failed"
    evidence = values(Stage.VALUES, BEYOND, replace(WITHIN, path="state:buffers:n"))
    assert MATCHES.judge(evidence, RULES).outcome == "failed"
    assert UPDATES.judge(evidence, RULES).outcome == "passed"


def test_another_shape_is_named():
    assert "Wrong values" in MATCHES.judge(values(Stage.SHAPES, BEYOND), RULES).because


def test_a_redrawn_parameter_set_is_named():
    assert "re-drawn parameters (2)" in MATCHES.judge(values(Stage.VALUES, BEYOND, draw=2), RULES).because


def test_a_leaf_without_a_spot_gets_no_spot():
    said = breach(replace(BEYOND, worst=""), 2.0, NORMAL)
    assert "Worst" not in said


def test_passing_says_how_much_was_compared():
    evidence = values(Stage.VALUES, WITHIN, WITHIN)
    said = judge_leaves("x", evidence, evidence.leaves, RULES, when="", advice="")
    assert said.because == "2 tensors within the bound"
