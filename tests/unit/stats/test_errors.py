"""What is made of error figures: honest rounding's envelope, the ratio of two sides, and what needs no model."""

import math
from dataclasses import replace

import pytest

from strop.checks._bound import allowed
from strop.records.evidence import ErrorQuantiles, LeafErrors
from strop.stats.errors import NO_ERROR, covered, envelope, error_ratio


def quantiles(p50=0.0, p99=0.0, p999=0.0, top=0.0):
    return ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=top)


def leaf(path="output", candidate=NO_ERROR, baseline=NO_ERROR, honest=NO_ERROR, floor=0.0, elements=1000):
    return LeafErrors(path=path, elements=elements, floor=floor, candidate=candidate, baseline=baseline, honest=honest)


class TestEnvelope:
    def test_no_samples_no_room(self):
        assert envelope([], 1000) == NO_ERROR

    def test_one_sample_of_many_elements_stays_what_it_is(self):
        one = quantiles(1.0, 2.0, 3.0, 4.0)
        assert envelope([one], 1000) == one

    def test_agreeing_samples_add_nothing(self):
        one = quantiles(1.0, 2.0, 3.0, 4.0)
        assert envelope([one] * 4, 10**6) == one

    def test_scattered_samples_widen_it(self):
        samples = [quantiles(value, value, value, value) for value in (0.5, 1.0, 1.5)]
        # mean 1, standard deviation 0.5, t(0.995, 2) = 9.925
        expected = 1 + 9.925 * 0.5 * math.sqrt(4 / 3)
        assert envelope(samples, 1000).max == pytest.approx(expected, rel=1e-3)

    def test_few_elements_are_judged_as_single_draws(self):
        samples = [quantiles(1.0, 1.0, 1.0, 1.0)] * 4
        # t(0.999, 4) = 7.173
        assert envelope(samples, 1).p50 == pytest.approx(7.173, rel=1e-3)

    def test_quantiles_stay_in_order(self):
        samples = [quantiles(value, 4.0, 4.0, 4.0) for value in (0.1, 1.0, 3.9)]
        assert list(envelope(samples, 1000).as_tuple()) == sorted(envelope(samples, 1000).as_tuple())


class TestErrorRatio:
    def test_nothing_to_compare(self):
        assert error_ratio([]) == 0.0
        assert error_ratio([leaf()]) == 0.0

    def test_the_worst_quantile_counts(self):
        one = leaf(candidate=quantiles(1, 2, 3, 12), baseline=quantiles(1, 2, 3, 4), honest=quantiles(2, 4, 6, 8))
        assert error_ratio([one]) == 3.0

    def test_the_worst_case_and_path_count(self):
        same = quantiles(1, 1, 1, 1)
        good = leaf(candidate=same, baseline=same, honest=same)
        bad = leaf("other", candidate=quantiles(1, 1, 1, 5), baseline=same, honest=same)
        assert error_ratio([good, good, bad, good]) == 5.0

    def test_one_lucky_baseline_makes_nobody_look_bad(self):
        usual = quantiles(1, 1, 1, 1)
        cases = [leaf(candidate=usual, baseline=usual, honest=usual) for _ in range(10)]
        lucky = leaf(candidate=usual, baseline=quantiles(0.01, 0.01, 0.01, 0.01), honest=usual)
        assert error_ratio([*cases, lucky]) == 1.0

    def test_errors_below_the_floor_count_as_the_floor(self):
        one = leaf(candidate=quantiles(1, 1, 1, 1), floor=2.0)
        assert error_ratio([one]) == 0.5

    def test_where_honest_rounding_was_not_asked_about_the_baseline_stands_alone(self):
        one = leaf(candidate=quantiles(1, 2, 3, 6), baseline=quantiles(1, 2, 3, 4), honest=None)
        assert error_ratio([one]) == 1.5


class TestCovered:
    def test_up_to_the_factor_the_baselines_error_covers_the_candidates(self):
        one = leaf(candidate=quantiles(2, 4, 6, 8), baseline=quantiles(1, 2, 3, 4), honest=None)
        assert covered(one, 2.0)
        assert not covered(one, 1.9)
        assert not covered(replace(one, candidate=quantiles(math.nan, 4, 6, 8)), 2.0)

    def test_the_smallest_error_that_counts_covers_too(self):
        assert covered(leaf(candidate=quantiles(1, 1, 1, 1), floor=1.0, honest=None), 2.0)

    def test_what_is_covered_passes_the_bound_and_the_ratio_without_the_model(self):
        """Beside a lucky baseline twice the smallest error that counts is more than the bound allows."""
        lucky = leaf(
            candidate=quantiles(1.9, 1.9, 1.9, 1.9), baseline=quantiles(0.1, 0.1, 0.1, 0.1), floor=1.0, honest=None
        )
        assert not covered(lucky, 2.0)
        for size in (step / 20 for step in range(81)):
            one = replace(lucky, candidate=quantiles(size, size, size, size))
            if covered(one, 2.0):
                assert all(size <= limit for limit in allowed(one, 2.0)) and error_ratio([one]) <= 2.0

    def test_unequal_integers_are_counted(self):
        one = replace(leaf(honest=None), exact_mismatches=3, baseline_exact_mismatches=1)
        assert covered(one, 3.0)
        assert not covered(one, 2.0)
