"""Errors against fp64: quantiles and the smallest error that counts, whole or piece by piece."""

import math
import sys

import pytest
import torch

from strop.records.tensor import DType
from strop.stats import figures
from strop.stats.errors import NO_ERROR
from strop.stats.figures import Tally, error_quantiles, pieces, smallest_error

LARGEST = sys.float_info.max


def normal(*shape, seed=7):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture(params=[1, 3, 64])
def piecewise(request, monkeypatch):
    """Pieces of so many elements."""
    monkeypatch.setattr(figures, "_PIECE_ON_HOST", request.param)
    return request.param


class TestPieces:
    def test_equal_parts_of_all_with_their_position(self, monkeypatch):
        monkeypatch.setattr(figures, "_PIECE_ON_HOST", 4)
        one, other = torch.arange(10.0).reshape(2, 5), torch.arange(10).reshape(2, 5)
        found = [(start, [part.tolist() for part in parts]) for start, parts in pieces(one, other)]
        rows = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        assert found == [(4 * index, [row, row]) for index, row in enumerate(rows)]

    def test_nothing_has_no_pieces(self):
        assert list(pieces(torch.zeros(3, 0))) == []

    def test_a_single_number_is_one_piece(self):
        assert [(start, part.shape) for start, (part,) in pieces(torch.tensor(1.0))] == [(0, (1,))]

    def test_on_a_device_they_are_larger(self, monkeypatch):
        monkeypatch.setattr(figures, "_PIECE_ON_HOST", 2)
        monkeypatch.setattr(figures, "_PIECE_ON_DEVICE", 4)
        there = torch.empty(10, device="meta")
        assert [(start, part.numel()) for start, (part,) in pieces(there)] == [(0, 4), (4, 4), (8, 2)]

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match=r"\(2, 3\) and \(3, 2\)"):
            next(pieces(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(3, 2)))


class TestQuantiles:
    def test_ranks_of_a_known_array(self):
        expected = torch.zeros(1000, dtype=torch.float64)
        actual = -torch.arange(1.0, 1001.0, dtype=torch.float64)
        assert error_quantiles(actual, expected).as_tuple() == (500.0, 990.0, 999.0, 1000.0)

    def test_one_element(self):
        assert error_quantiles(doubles([3.0]), doubles([1.0])).as_tuple() == (2.0, 2.0, 2.0, 2.0)

    def test_only_elements_where_both_are_finite_count(self):
        actual = doubles([math.nan, math.inf, -math.inf, 1.0, 5.0, math.inf])
        expected = doubles([1.0, math.inf, 2.0, 1.5, math.nan, -math.inf])
        assert error_quantiles(actual, expected).as_tuple() == (0.5, 0.5, 0.5, 0.5)

    def test_nothing_finite_and_nothing_at_all(self):
        assert error_quantiles(doubles([math.nan]), doubles([1.0])) == NO_ERROR
        assert error_quantiles(torch.zeros(0, 4), torch.zeros(0, 4)) == NO_ERROR

    def test_a_difference_beyond_the_format_is_infinite_and_left_to_the_masks(self):
        assert error_quantiles(doubles([LARGEST, 1.0]), doubles([-LARGEST, 0.0])).max == 1.0

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match=r"\(2,\) and \(1,\)"):
            error_quantiles(torch.zeros(2), torch.zeros(1))

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    def test_the_difference_is_taken_in_double_precision(self, dtype):
        """In the type itself it would round to the expected value, or vanish."""
        assert error_quantiles(torch.ones(1, dtype=dtype), doubles([1 + 2.0**-40])).max == 2.0**-40

    def test_the_histogram_agrees_with_the_exact_ranks_within_its_resolution(self, monkeypatch):
        expected = normal(300, 400)
        scale = 10.0 ** torch.randint(-12, 3, (300, 400), generator=torch.Generator().manual_seed(1))
        actual = expected + normal(300, 400, seed=8) * scale
        actual[0, :5] = doubles([math.nan, math.inf, -math.inf, math.nan, math.nan])
        exact = error_quantiles(actual, expected)
        monkeypatch.setattr(figures, "_EXACT_BELOW", 1)
        monkeypatch.setattr(figures, "_PIECE_ON_HOST", 4096)
        counted = error_quantiles(actual, expected)
        assert counted.max == exact.max
        for rough, true in zip(counted.as_tuple(), exact.as_tuple(), strict=True):
            assert true <= rough <= true * (1 + 1 / 128)

    def test_it_is_exact_up_to_a_size_and_counted_from_there(self):
        size = figures._EXACT_BELOW
        errors = torch.arange(size, dtype=torch.float64) + 1
        below = error_quantiles(errors[1:], torch.zeros(size - 1, dtype=torch.float64))
        assert below.p50 == 2 + (size - 1) // 2
        counted = error_quantiles(errors, torch.zeros(size, dtype=torch.float64))
        assert counted.p50 != size / 2 and counted.p50 == pytest.approx(size / 2, rel=1 / 128)
        assert counted.max == size

    def test_the_histogram_of_equal_arrays_and_of_no_finite_ones(self, monkeypatch):
        monkeypatch.setattr(figures, "_EXACT_BELOW", 1)
        ones = torch.ones(10, dtype=torch.float64)
        assert error_quantiles(ones, ones) == NO_ERROR
        assert error_quantiles(ones * math.nan, ones) == NO_ERROR

    def test_the_histogram_counts_tiny_and_zero_errors_apart(self, monkeypatch):
        monkeypatch.setattr(figures, "_EXACT_BELOW", 1)
        found = error_quantiles(doubles([0.0] * 60 + [1e-30] * 40), torch.zeros(100, dtype=torch.float64))
        assert found.p50 == 0.0
        assert found.p99 == pytest.approx(1e-30, rel=1 / 128)

    def test_the_histogram_holds_the_largest_error_there_is(self, monkeypatch):
        monkeypatch.setattr(figures, "_EXACT_BELOW", 1)
        assert error_quantiles(doubles([LARGEST]), doubles([0.0])).as_tuple() == (LARGEST,) * 4

    @pytest.mark.parametrize("exact_below", [1, 1 << 20])
    def test_pieces_give_what_the_whole_gives(self, monkeypatch, exact_below, piecewise):
        monkeypatch.setattr(figures, "_EXACT_BELOW", exact_below)
        actual, expected = normal(7, 31), normal(7, 31, seed=8)
        actual[3] = math.nan
        in_pieces = error_quantiles(actual, expected)
        monkeypatch.setattr(figures, "_PIECE_ON_HOST", 1 << 20)
        assert error_quantiles(actual, expected) == in_pieces

    def test_pieces_without_an_error_are_no_pieces(self):
        tally = Tally(10)
        tally.add(torch.zeros(0, dtype=torch.float64))
        assert tally.quantiles() == NO_ERROR and tally.total == 0
        tally.add(doubles([2.0]))
        tally.add(doubles([1.0, 3.0]))
        assert tally.quantiles().as_tuple() == (2.0, 3.0, 3.0, 3.0) and tally.total == 3


class Elsewhere(torch.Tensor):
    """Says that it lies on a device."""

    device = torch.device("cuda")


def test_quantiles_are_found_on_a_device_as_on_the_host(monkeypatch):
    monkeypatch.setattr(figures, "_PIECE_ON_DEVICE", 100)
    actual, expected = normal(30, 41), normal(30, 41, seed=8)
    actual[3, 4] = math.inf
    there = error_quantiles(actual.as_subclass(Elsewhere), expected.as_subclass(Elsewhere))
    assert there == error_quantiles(actual, expected)
    ordered = torch.sort((actual - expected).abs()[torch.isfinite(actual)]).values
    assert there.as_tuple() == tuple(float(ordered[rank - 1]) for rank in (615, 1217, 1228, 1229))


class TestSmallestError:
    @pytest.mark.parametrize(
        ("dtype", "roundoff"),
        [(DType.FLOAT32, 2.0**-24), (DType.BFLOAT16, 2.0**-8), (DType.FLOAT16, 2.0**-11), (DType.FLOAT64, 2.0**-53)],
    )
    def test_half_an_ulp_at_the_size_of_a_row(self, dtype, roundoff):
        rows = doubles([[3.0, -4.0], [3.0, 4.0], [-4.0, 3.0]])
        assert smallest_error(rows, dtype) == pytest.approx(roundoff * math.sqrt(12.5))

    def test_outlier_rows_license_nothing_elsewhere(self):
        rows = torch.ones(9, 4, dtype=torch.float64)
        rows[0] = 1e6
        assert smallest_error(rows, DType.FLOAT32) == pytest.approx(2.0**-24)

    def test_between_two_middle_rows_lies_the_median(self):
        rows = doubles([[1.0], [2.0], [4.0], [9.0]])
        assert smallest_error(rows, DType.FLOAT32) == pytest.approx(3 * 2.0**-24)

    def test_never_below_the_smallest_normal_number(self):
        assert smallest_error(torch.full((4,), 1e-42, dtype=torch.float64), DType.FLOAT32) == 2.0**-126
        assert smallest_error(torch.zeros(4, dtype=torch.float64), DType.FLOAT16) == 2.0**-14
        assert smallest_error(torch.zeros(3, 0), DType.FLOAT32) == 2.0**-126
        assert smallest_error(torch.zeros(0, 3), DType.FLOAT32) == 2.0**-126
        assert smallest_error(torch.zeros(0), DType.FLOAT32) == 2.0**-126

    def test_what_is_not_finite_is_left_out(self):
        row = doubles([[1.0, math.inf, math.nan, -1.0], [1.0, 1.0, 1.0, 1.0]])
        assert smallest_error(row, DType.FLOAT32) == pytest.approx(2.0**-24)
        assert smallest_error(doubles([math.nan, math.inf]), DType.FLOAT32) == 2.0**-126

    def test_squares_do_not_overflow(self):
        rows = torch.full((2, 2), 1e200, dtype=torch.float64)
        assert smallest_error(rows, DType.FLOAT64) == pytest.approx(1e200 * 2.0**-53)

    def test_a_single_number_is_its_own_row(self):
        assert smallest_error(doubles(2.0), DType.FLOAT32) == pytest.approx(2.0**-23)

    def test_rounding_the_exact_answer_once_is_never_more_than_it_by_much(self):
        exact = normal(64, 256)
        rounding = error_quantiles(exact.float(), exact)
        assert rounding.p50 <= smallest_error(exact, DType.FLOAT32)

    def test_rows_in_pieces_give_what_the_whole_gives(self, monkeypatch, piecewise):
        rows = normal(11, 5)
        rows[4, 2], rows[7] = math.nan, math.inf
        in_pieces = smallest_error(rows, DType.BFLOAT16)
        monkeypatch.setattr(figures, "_PIECE_ON_HOST", 1 << 20)
        assert smallest_error(rows, DType.BFLOAT16) == in_pieces

    def test_rows_are_those_of_the_shape_and_not_of_the_memory(self):
        rows = torch.ones(2, 8, dtype=torch.float64)
        rows[0] = 1e6
        assert smallest_error(rows.t().contiguous().t(), DType.FLOAT32) == smallest_error(rows, DType.FLOAT32)
        assert smallest_error(rows.t(), DType.FLOAT32) != smallest_error(rows, DType.FLOAT32)
