"""One output of one case: its figures for values, classes and integers; in any type, any layout, piece by piece."""

import math
from dataclasses import replace

import pytest
import torch

from strop.records.tensor import DType
from strop.stats import figures
from strop.stats.errors import NO_ERROR
from strop.stats.figures import HonestErrors, beside, honest_errors, leaf_errors
from strop.wire.tensors import real, torch_dtype


def normal(*shape, seed=7):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture(params=[1, 3, 64])
def piecewise(request, monkeypatch):
    """Pieces of so many elements."""
    monkeypatch.setattr(figures, "_PIECE_ON_HOST", request.param)
    return request.param


def compare(dtype, candidate, baseline, honest, expected):
    kind = torch.float64 if dtype.is_floating else torch_dtype(dtype)
    one, other, want = (torch.as_tensor(each, dtype=kind) for each in (candidate, baseline, expected))
    samples = [torch.as_tensor(each, dtype=kind) for each in honest]
    return leaf_errors("output", dtype, candidate=one, baseline=other, honest=samples, expected=want)


class TestLeafErrors:
    def test_floating_values(self):
        found = compare(DType.FLOAT32, [[1.0, 2.5]], [[1.0, 2.1]], [[[1.2, 2.0]]], [[1.0, 2.0]])
        assert (found.candidate.max, found.baseline.max) == (0.5, pytest.approx(0.1))
        assert found.honest.max >= 0.2
        assert (found.elements, found.mask_mismatches) == (2, 0)
        assert found.worst == "[0, 1]: got 2.5, expected 2"

    def test_classes_are_compared_apart_from_values(self):
        candidate = [math.nan, math.inf, -math.inf, 1.0, math.nan]
        expected = [math.nan, math.inf, math.inf, 1.0, 1.0]
        found = compare(DType.FLOAT32, candidate, expected, [], expected)
        assert (found.mask_mismatches, found.baseline_mask_mismatches) == (2, 0)
        assert found.candidate == NO_ERROR
        assert found.worst == "[2]: got -inf, expected inf"

    def test_what_overflows_in_storage_counts_as_infinite(self):
        found = compare(DType.FLOAT32, [math.inf, -math.inf], [math.inf, 3.0e38], [], [3.5e38, -3.5e38])
        assert (found.mask_mismatches, found.baseline_mask_mismatches) == (0, 1)

    @pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32])
    def test_the_largest_number_is_finite(self, dtype):
        largest = torch.finfo(torch_dtype(dtype)).max
        assert compare(dtype, [largest], [largest], [], [largest]).mask_mismatches == 0
        assert compare(dtype, [math.inf], [largest], [], [largest]).mask_mismatches == 1

    def test_signed_zeros_are_equal(self):
        found = compare(DType.FLOAT32, [-0.0], [0.0], [], [0.0])
        assert (found.candidate, found.mask_mismatches) == (NO_ERROR, 0)

    def test_zeros_that_both_sides_hit_say_nothing_of_precision(self):
        """Behind a ReLU: half of the elements are exactly zero."""
        zeros = [0.0] * 50
        expected, candidate = [*zeros, *[1.0] * 50], [*zeros, *[1.25] * 50]
        found = compare(DType.FLOAT32, candidate, expected, [[*[9.0] * 50, *[1.5] * 50]], expected)
        assert (found.candidate.p50, found.elements) == (0.25, 100)
        assert found.honest.max == 0.5
        astray = compare(DType.FLOAT32, [0.5, *candidate[1:]], expected, [], expected)
        assert astray.candidate.max == 0.5, "a zero that only one side hits counts"

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

    @pytest.mark.parametrize("layout", [lambda table: table, torch.t])
    def test_bytes_of_poison_are_neither_true_nor_false(self, layout):
        poison = layout(torch.tensor([[1, 2, 0], [255, 0, 1]], dtype=torch.uint8).view(torch.bool))
        expected = layout(torch.tensor([[True, True, False], [True, False, True]]))
        sides = {"baseline": expected, "honest": [poison], "expected": expected}
        found = leaf_errors("output", DType.BOOL, candidate=poison, **sides)
        assert (found.exact_mismatches, found.baseline_exact_mismatches, found.honest_exact_mismatches) == (2, 0, 2)

    def test_no_elements(self):
        assert compare(DType.FLOAT32, torch.zeros(0), torch.zeros(0), [], torch.zeros(0)).worst == ""
        assert compare(DType.INT8, torch.zeros(0), torch.zeros(0), [], torch.zeros(0)).worst == ""

    def test_the_worst_finite_element_is_named_although_others_are_nan_on_both_sides(self):
        found = compare(DType.FLOAT32, [math.nan, 1.0, 3.0], [math.nan, 1.0, 1.0], [], [math.nan, 1.0, 1.0])
        assert found.worst == "[2]: got 3, expected 1"

    def test_a_single_number(self):
        assert compare(DType.FLOAT32, 2.0, 1.0, [], 1.0).worst == "[]: got 2, expected 1"

    @pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.INT32])
    def test_shapes_must_agree(self, dtype):
        for candidate, baseline, honest in (([1, 2], [1], []), ([1], [1, 2], []), ([1], [1], [[1, 2]])):
            with pytest.raises(ValueError, match="cannot be compared"):
                compare(dtype, candidate, baseline, honest, [1])

    def test_where_nobody_asked_for_honest_rounding_nothing_is_said_of_it(self):
        one = doubles([1.0, 2.0])
        for dtype, values in ((DType.FLOAT32, one), (DType.INT64, one.long())):
            found = leaf_errors("output", dtype, candidate=values, baseline=values, expected=values)
            assert (found.honest, found.honest_exact_mismatches) == (None, 0)
            assert beside(found, []).honest == NO_ERROR

    def test_one_sample_of_honest_rounding(self):
        """It is counted over what counts for the two sides, and beside the leaf it is what it was."""
        expected, side = doubles([0.0, 1.0, 2.0]), doubles([0.0, 1.5, 2.0])
        sample = doubles([7.0, 1.25, math.inf])
        found = honest_errors(DType.FLOAT32, sample=sample, candidate=side, baseline=side, expected=expected)
        assert (found.elements, found.quantiles.as_tuple()) == (2, (0.25,) * 4)
        exact = honest_errors(
            DType.INT64, sample=sample[:2].long(), candidate=side, baseline=side, expected=expected[:2].long()
        )
        assert exact == HonestErrors(quantiles=NO_ERROR, elements=2, exact_mismatches=1)
        leaf = leaf_errors("output", DType.FLOAT32, candidate=side, baseline=side, expected=expected)
        many = replace(found, elements=1000)
        assert beside(leaf, [many, many]) == replace(leaf, honest=found.quantiles)


class TestNarrowTypes:
    @pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16])
    def test_candidates_in_their_own_type_are_judged_by_their_values(self, dtype):
        expected = normal(40, 50)
        candidate, baseline = (expected * 1.01).to(torch_dtype(dtype)), expected.to(torch_dtype(dtype))
        narrow = leaf_errors(
            "output", dtype, candidate=candidate, baseline=baseline, honest=[expected], expected=expected
        )
        wide = leaf_errors(
            "output", dtype, candidate=candidate.double(), baseline=baseline.double(), honest=[expected],
            expected=expected,
        )  # fmt: skip
        assert narrow == wide
        assert narrow.candidate.max > narrow.baseline.max > 0

    def test_what_a_narrow_type_cannot_hold_is_infinite_on_both_sides(self):
        expected = doubles([7e4, -7e4, 65504.0])
        found = leaf_errors(
            "output", DType.FLOAT16, candidate=expected.half(), baseline=expected.half(), expected=expected
        )
        assert (found.mask_mismatches, found.candidate) == (0, NO_ERROR)

    def test_the_worst_is_shown_as_it_is(self):
        found = leaf_errors(
            "output", DType.BFLOAT16, candidate=torch.tensor([1.0, 3.0]).bfloat16(),
            baseline=torch.ones(2).bfloat16(), expected=doubles([1.0, 1.0]),
        )  # fmt: skip
        assert found.worst == "[1]: got 3, expected 1"

    def test_complex_numbers_are_judged_by_their_parts(self):
        expected = torch.complex(normal(4, 5), normal(4, 5, seed=8))
        candidate = expected.to(torch.complex64)
        candidate[2, 3] += 0.5j
        sides = {"baseline": real(expected.to(torch.complex64)), "expected": real(expected)}
        found = leaf_errors("output", DType.COMPLEX64, candidate=real(candidate), **sides)
        assert found.elements == 40 and found.candidate.max == pytest.approx(0.5, rel=1e-5)
        assert found.worst.startswith("[2, 3, 1]: got ")


def sides_of(shape, *, seed=3):
    """Candidate, baseline, samples and reference with everything in them that figures tell apart."""
    expected = normal(*shape, seed=seed)
    flat = expected.reshape(-1)
    flat[::7] = 0.0
    candidate = expected + 1e-3 * normal(*shape, seed=seed + 1) * (expected != 0)
    baseline = expected + 1e-4 * normal(*shape, seed=seed + 2) * (expected != 0)
    candidate.reshape(-1)[5], flat[11], candidate.reshape(-1)[11] = math.nan, math.inf, math.inf
    honest = [expected + 1e-4 * normal(*shape, seed=seed + 3 + index) for index in range(4)]
    return {"candidate": candidate, "baseline": baseline, "honest": honest, "expected": expected}


class TestLeafErrorsPieceByPiece:
    @pytest.mark.parametrize("exact_below", [1, 1 << 20])
    def test_pieces_give_what_the_whole_gives(self, monkeypatch, exact_below, piecewise):
        monkeypatch.setattr(figures, "_EXACT_BELOW", exact_below)
        sides = sides_of((6, 35))
        in_pieces = leaf_errors("output", DType.FLOAT32, **sides)
        monkeypatch.setattr(figures, "_PIECE_ON_HOST", 1 << 20)
        assert leaf_errors("output", DType.FLOAT32, **sides) == in_pieces
        assert in_pieces.mask_mismatches == 1 and in_pieces.worst.startswith("[0, 5]: got nan")

    def test_integers_in_pieces(self, monkeypatch, piecewise):
        generator = torch.Generator().manual_seed(1)
        values = torch.randint(0, 3, (4, 3, 9), generator=generator)
        sides = {"candidate": values.flip(0), "baseline": values, "honest": [values.flip(1), values.flip(2)]}
        in_pieces = leaf_errors("output", DType.INT64, **sides, expected=values)
        monkeypatch.setattr(figures, "_PIECE_ON_HOST", 1 << 20)
        assert leaf_errors("output", DType.INT64, **sides, expected=values) == in_pieces
        assert in_pieces.exact_mismatches == int((values.flip(0) != values).sum()) > 0

    @pytest.mark.parametrize("narrow", [torch.float32, torch.float16, torch.bfloat16])
    def test_tensors_that_lie_otherwise_in_memory(self, piecewise, narrow):
        """Channels last: the figures and the place of the worst element are those of the shape."""
        sides = sides_of((2, 3, 4, 5))
        sides["candidate"] = sides["candidate"].to(narrow)
        dense = leaf_errors("output", DType.FLOAT32, **sides)
        strided = {name: side.to(memory_format=torch.channels_last) for name, side in sides.items() if name != "honest"}
        honest = [sample.to(memory_format=torch.channels_last) for sample in sides["honest"]]
        assert strided["candidate"].stride() != sides["candidate"].stride()
        assert leaf_errors("output", DType.FLOAT32, **strided, honest=honest) == dense
        assert leaf_errors("output", DType.FLOAT32, **(sides | {"candidate": strided["candidate"]})) == dense

    def test_the_first_wrong_class_is_the_worst_wherever_errors_are_larger(self, piecewise):
        expected = torch.ones(200, dtype=torch.float64)
        candidate = expected.clone()
        candidate[3], candidate[150], candidate[190] = 1e9, math.nan, math.inf
        found = leaf_errors("output", DType.FLOAT32, candidate=candidate, baseline=expected, expected=expected)
        assert found.worst == "[150]: got nan, expected 1"
        assert found.mask_mismatches == 2 and found.candidate.max == 1e9 - 1

    def test_the_largest_error_of_any_piece_is_the_worst_and_of_equals_the_first(self, piecewise):
        expected = torch.ones(200, dtype=torch.float64)
        candidate = expected.clone()
        candidate[3], candidate[150], candidate[190] = 1.5, 4.0, -2.0
        found = leaf_errors("output", DType.FLOAT32, candidate=candidate, baseline=expected, expected=expected)
        assert found.worst == "[150]: got 4, expected 1"

    def test_the_first_unequal_integer_is_the_worst(self, piecewise):
        expected = torch.ones(10, 20, dtype=torch.int32)
        candidate = expected.clone()
        candidate[7, 10], candidate[9, 0] = 2, 100
        found = leaf_errors("output", DType.INT32, candidate=candidate, baseline=expected, expected=expected)
        assert found.worst == "[7, 10]: got 2, expected 1" and found.exact_mismatches == 2
