"""Errors against fp64: quantiles, the smallest error that counts, honest rounding's envelope, one leaf."""

import math
from dataclasses import replace

import numpy as np
import pytest

from strop.checks._bound import allowed
from strop.records.evidence import ErrorQuantiles, LeafErrors
from strop.records.tensor import DType
from strop.stats import errors
from strop.stats.errors import NO_ERROR, covered, envelope, error_quantiles, error_ratio, leaf_errors, smallest_error

RANDOM = np.random.default_rng(7)


def quantiles(p50=0.0, p99=0.0, p999=0.0, top=0.0):
    return ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=top)


def leaf(path="output", candidate=NO_ERROR, baseline=NO_ERROR, honest=NO_ERROR, floor=0.0, elements=1000):
    return LeafErrors(path=path, elements=elements, floor=floor, candidate=candidate, baseline=baseline, honest=honest)


class TestQuantiles:
    def test_ranks_of_a_known_array(self):
        expected = np.zeros(1000)
        actual = -np.arange(1.0, 1001.0)
        assert error_quantiles(actual, expected).as_tuple() == (500.0, 990.0, 999.0, 1000.0)

    def test_one_element(self):
        assert error_quantiles(np.array([3.0]), np.array([1.0])).as_tuple() == (2.0, 2.0, 2.0, 2.0)

    def test_only_elements_where_both_are_finite_count(self):
        actual = np.array([np.nan, np.inf, -np.inf, 1.0, 5.0, np.inf])
        expected = np.array([1.0, np.inf, 2.0, 1.5, np.nan, -np.inf])
        assert error_quantiles(actual, expected).as_tuple() == (0.5, 0.5, 0.5, 0.5)

    def test_nothing_finite_and_nothing_at_all(self):
        assert error_quantiles(np.array([np.nan]), np.array([1.0])) == NO_ERROR
        assert error_quantiles(np.zeros((0, 4)), np.zeros((0, 4))) == NO_ERROR

    def test_a_difference_beyond_the_format_is_infinite_and_left_to_the_masks(self):
        huge = np.finfo(np.float64).max
        assert error_quantiles(np.array([huge, 1.0]), np.array([-huge, 0.0])).max == 1.0

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match=r"\(2,\) and \(1,\)"):
            error_quantiles(np.zeros(2), np.zeros(1))

    def test_the_histogram_agrees_with_the_exact_ranks_within_its_resolution(self, monkeypatch):
        expected = RANDOM.standard_normal((300, 400))
        actual = expected + RANDOM.standard_normal((300, 400)) * 10.0 ** RANDOM.integers(-12, 3, (300, 400))
        actual[0, :5] = [np.nan, np.inf, -np.inf, np.nan, np.nan]
        exact = error_quantiles(actual, expected)
        monkeypatch.setattr(errors, "_EXACT_BELOW", 1)
        monkeypatch.setattr(errors, "_CHUNK", 4096)
        counted = error_quantiles(actual, expected)
        assert counted.max == exact.max
        for rough, true in zip(counted.as_tuple(), exact.as_tuple(), strict=True):
            assert true <= rough <= true * (1 + 1 / 128)

    def test_the_histogram_of_equal_arrays_and_of_no_finite_ones(self, monkeypatch):
        monkeypatch.setattr(errors, "_EXACT_BELOW", 1)
        assert error_quantiles(np.ones(10), np.ones(10)) == NO_ERROR
        assert error_quantiles(np.full(10, np.nan), np.ones(10)) == NO_ERROR

    def test_the_histogram_counts_tiny_and_zero_errors_apart(self, monkeypatch):
        monkeypatch.setattr(errors, "_EXACT_BELOW", 1)
        actual = np.array([0.0] * 60 + [1e-30] * 40)
        found = error_quantiles(actual, np.zeros(100))
        assert found.p50 == 0.0
        assert found.p99 == pytest.approx(1e-30, rel=1 / 128)


class TestSmallestError:
    @pytest.mark.parametrize(
        ("dtype", "roundoff"),
        [(DType.FLOAT32, 2.0**-24), (DType.BFLOAT16, 2.0**-8), (DType.FLOAT16, 2.0**-11), (DType.FLOAT64, 2.0**-53)],
    )
    def test_half_an_ulp_at_the_size_of_a_row(self, dtype, roundoff):
        rows = np.array([[3.0, -4.0], [3.0, 4.0], [-4.0, 3.0]])
        assert smallest_error(rows, dtype) == pytest.approx(roundoff * math.sqrt(12.5))

    def test_outlier_rows_license_nothing_elsewhere(self):
        rows = np.ones((9, 4))
        rows[0] = 1e6
        assert smallest_error(rows, DType.FLOAT32) == pytest.approx(2.0**-24)

    def test_never_below_the_smallest_normal_number(self):
        assert smallest_error(np.full(4, 1e-42), DType.FLOAT32) == 2.0**-126
        assert smallest_error(np.zeros(4), DType.FLOAT16) == 2.0**-14
        assert smallest_error(np.zeros((3, 0)), DType.FLOAT32) == 2.0**-126

    def test_what_is_not_finite_is_left_out(self):
        row = np.array([[1.0, np.inf, np.nan, -1.0], [1.0, 1.0, 1.0, 1.0]])
        assert smallest_error(row, DType.FLOAT32) == pytest.approx(2.0**-24)

    def test_squares_do_not_overflow(self):
        assert smallest_error(np.full((2, 2), 1e200), DType.FLOAT64) == pytest.approx(1e200 * 2.0**-53)

    def test_a_single_number_is_its_own_row(self):
        assert smallest_error(np.array(2.0), DType.FLOAT32) == pytest.approx(2.0**-23)

    def test_rounding_the_exact_answer_once_is_never_more_than_it_by_much(self):
        exact = RANDOM.standard_normal((64, 256))
        rounding = error_quantiles(exact.astype(np.float32).astype(np.float64), exact)
        assert rounding.p50 <= smallest_error(exact, DType.FLOAT32)


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


def compare(dtype, candidate, baseline, honest, expected):
    arrays = [np.asarray(one, dtype=np.float64 if dtype.is_floating else None) for one in (candidate, baseline)]
    return leaf_errors(
        "output",
        dtype,
        candidate=arrays[0],
        baseline=arrays[1],
        honest=[np.asarray(one) for one in honest],
        expected=np.asarray(expected),
    )


class TestLeafErrors:
    def test_floating_values(self):
        found = compare(DType.FLOAT32, [[1.0, 2.5]], [[1.0, 2.1]], [[[1.2, 2.0]]], [[1.0, 2.0]])
        assert (found.candidate.max, found.baseline.max) == (0.5, pytest.approx(0.1))
        assert found.honest.max >= 0.2
        assert (found.elements, found.mask_mismatches) == (2, 0)
        assert found.worst == "[0, 1]: got 2.5, expected 2"

    def test_classes_are_compared_apart_from_values(self):
        candidate = [np.nan, np.inf, -np.inf, 1.0, np.nan]
        expected = [np.nan, np.inf, np.inf, 1.0, 1.0]
        found = compare(DType.FLOAT32, candidate, expected, [], expected)
        assert (found.mask_mismatches, found.baseline_mask_mismatches) == (2, 0)
        assert found.candidate == NO_ERROR
        assert found.worst == "[2]: got -inf, expected inf"

    def test_what_overflows_in_storage_counts_as_infinite(self):
        found = compare(DType.FLOAT32, [np.inf, -np.inf], [np.inf, 3.0e38], [], [3.5e38, -3.5e38])
        assert (found.mask_mismatches, found.baseline_mask_mismatches) == (0, 1)

    def test_the_largest_number_is_finite(self):
        largest = float(np.finfo(np.float32).max)
        assert compare(DType.FLOAT32, [largest], [largest], [], [largest]).mask_mismatches == 0

    def test_signed_zeros_are_equal(self):
        found = compare(DType.FLOAT32, [-0.0], [0.0], [], [0.0])
        assert (found.candidate, found.mask_mismatches) == (NO_ERROR, 0)

    def test_integers_are_counted_exactly(self):
        found = compare(
            DType.INT64, [[1, 2], [3, 9]], [[1, 2], [3, 4]], [[[0, 0], [3, 4]], [[1, 2], [3, 0]]], [[1, 2], [3, 4]]
        )
        assert (found.exact_mismatches, found.baseline_exact_mismatches, found.honest_exact_mismatches) == (1, 0, 2)
        assert found.worst == "[1, 1]: got 9, expected 4"
        assert found.floor == 0.0

    def test_large_integers_do_not_pass_through_floating_point(self):
        found = compare(DType.INT64, [2**53 + 1], [2**53], [], [2**53])
        assert found.exact_mismatches == 1

    def test_equal_booleans(self):
        found = compare(DType.BOOL, [True, False], [True, False], [], [True, False])
        assert (found.exact_mismatches, found.worst) == (0, "")

    def test_no_elements(self):
        assert compare(DType.FLOAT32, np.zeros((0,)), np.zeros((0,)), [], np.zeros((0,))).worst == ""

    def test_the_worst_finite_element_is_named_although_others_are_nan_on_both_sides(self):
        found = compare(DType.FLOAT32, [np.nan, 1.0, 3.0], [np.nan, 1.0, 1.0], [], [np.nan, 1.0, 1.0])
        assert found.worst == "[2]: got 3, expected 1"

    def test_a_single_number(self):
        assert compare(DType.FLOAT32, 2.0, 1.0, [], 1.0).worst == "[]: got 2, expected 1"

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match="cannot be compared"):
            compare(DType.FLOAT32, [1.0], [1.0], [[1.0, 2.0]], [1.0])


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
        for size in np.linspace(0.0, 4.0, 81):
            one = replace(lucky, candidate=quantiles(size, size, size, size))
            if covered(one, 2.0):
                assert all(size <= limit for limit in allowed(one, 2.0)) and error_ratio([one]) <= 2.0

    def test_unequal_integers_are_counted(self):
        one = replace(leaf(honest=None), exact_mismatches=3, baseline_exact_mismatches=1)
        assert covered(one, 3.0)
        assert not covered(one, 2.0)
