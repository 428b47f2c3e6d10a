"""Quantiles of Student's distribution against printed tables."""

import math

import pytest

from strop.stats.student import normal_cdf, normal_quantile, student_cdf, student_quantile


@pytest.mark.parametrize(
    ("probability", "degrees", "printed"),
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.99, 2, 6.965),
        (0.95, 3, 2.353),
        (0.995, 5, 4.032),
        (0.975, 10, 2.228),
        (0.99, 30, 2.457),
        (0.975, 120, 1.980),
        (0.975, 1000, 1.962),
    ],
)
def test_quantiles_are_those_of_the_tables(probability, degrees, printed):
    assert student_quantile(probability, degrees) == pytest.approx(printed, abs=6e-4)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 50, 399])
@pytest.mark.parametrize("probability", [0.01, 0.3, 0.5, 0.9, 0.9999])
def test_the_quantile_inverts_the_distribution(degrees, probability):
    assert student_cdf(student_quantile(probability, degrees), degrees) == pytest.approx(probability, abs=1e-9)


def test_the_step_to_the_normal_formula_is_small():
    assert student_quantile(0.995, 400) == pytest.approx(student_quantile(0.995, 401), abs=1e-4)


def test_it_is_symmetric():
    assert student_quantile(0.1, 6) == -student_quantile(0.9, 6)
    assert student_cdf(0.0, 5) == 0.5


def test_the_normal_distribution():
    assert normal_quantile(0.975) == pytest.approx(1.95996, abs=1e-5)
    assert normal_cdf(0.0) == 0.5


def test_what_has_no_spread_is_refused():
    with pytest.raises(ValueError, match="at least two samples"):
        student_cdf(1.0, 0)
    with pytest.raises(ValueError, match="no probability"):
        student_quantile(1.0, 3)
    with pytest.raises(ValueError, match="no probability"):
        student_quantile(math.nan, 3)
