"""Would a trivial answer pass?"""

import math
from dataclasses import replace
from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.records.evidence import ErrorQuantiles
from strop.stats import figures
from strop.stats import power as rule

RANDOM = torch.Generator()


def normal(*shape):
    return torch.randn(shape, generator=RANDOM, dtype=torch.float64)


def uniform(*shape):
    return torch.rand(shape, generator=RANDOM, dtype=torch.float64)


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture(params=[7, 1 << 20], autouse=True)
def pieces(request, monkeypatch):
    """Whether a trivial answer passes is asked piece by piece."""
    RANDOM.manual_seed(3)
    monkeypatch.setattr(figures, "_PIECE_ON_HOST", request.param)


def at_most(error):
    """A bound that is the same at every quantile."""
    return ErrorQuantiles(p50=error, p99=error, p999=error, max=error)


def power(expected, error, given=None):
    return rule.power(expected, at_most(error), given)


def judge_power(expected, error):
    return rule.judge_power(expected, at_most(error))


def test_a_workload_that_answers_its_inputs_is_admissible():
    found = power([normal(8, 16) for _ in range(3)], 1e-5)
    assert found.admissible
    assert found.trivial == ()
    assert found.because == ""
    # The bound weighs most beside the median difference of two standard normal numbers.
    assert found.spread == pytest.approx(0.6745 * 2**0.5, rel=0.35)
    assert judge_power([doubles([0.0] * 4), doubles([1.0] * 4)], 1e-6) == ""


def test_zeros_pass_for_a_softmax_over_a_long_row_under_an_absolute_bound(monkeypatch):
    monkeypatch.setattr(figures, "_PIECE_ON_HOST", 4096)
    outputs = [torch.softmax(uniform(4, 65536), -1) for _ in range(2)]
    assert "zeros" in power(outputs, 1e-4).trivial
    assert power(outputs, 1e-10).admissible


def test_a_constant_passes_for_a_large_and_nearly_constant_sum():
    outputs = [283_470 + 6 * normal(128) for _ in range(3)]
    found = power(outputs, 28.0)
    assert "one constant" in found.trivial
    assert "zeros" not in found.trivial
    assert "one constant and the answer for other inputs would pass" in found.because


def test_the_answer_for_other_inputs_passes_where_the_input_is_not_read():
    answer = normal(2, 10)
    assert "the answer for other inputs" in power([answer, answer.clone()], 1e-6).trivial


def test_one_row_passes_where_all_rows_are_alike():
    outputs = [normal(1, 5).expand(6, 5) for _ in range(3)]
    assert power(outputs, 1e-6).trivial == ("its first row for all rows",)


def test_the_input_itself_passes_where_nothing_happens_to_it():
    given = uniform(3, 3)
    outputs = [given.relu(), uniform(3, 3).relu()]
    assert power(outputs, 1e-6, given).trivial == ("the input itself",)
    assert power([-one for one in outputs], 1e-6, given).admissible


def test_an_input_of_another_shape_is_no_answer():
    assert power([torch.eye(2).double(), 2 * torch.eye(2).double()], 1e-6, torch.eye(2).reshape(4)).admissible


def test_the_bound_must_be_small_beside_the_spread():
    outputs = [normal(1000) for _ in range(2)]
    found = power(outputs, 0.1)
    assert found.trivial == ()
    assert not found.admissible
    assert "must be below 5%" in found.because


def test_like_is_held_against_like():
    """Half precision rounds large values further, and the answers differ further there as well."""
    outputs = [normal(10**5) for _ in range(2)]
    half = ErrorQuantiles(p50=0.02, p99=0.08, p999=0.12, max=0.2)
    assert rule.power(outputs, half).admissible
    for name, loose in (("p50", 0.08), ("p99", 0.3), ("p999", 0.4), ("max", 0.6)):
        found = rule.power(outputs, replace(half, **{name: loose}))
        assert not found.admissible and found.trivial == ()
        assert 0.05 < found.bound_share < 0.15


def test_where_most_values_reach_a_clamp_the_others_decide():
    outputs = [(normal(10**4) * 0.6 + 2).clamp(0, 1) for _ in range(2)]
    assert float((outputs[0] - outputs[1]).abs().median()) == 0
    assert power(outputs, 1e-3).admissible
    assert not power(outputs, 0.2).admissible


def test_zeros_that_both_have_say_nothing():
    outputs = [(normal(10**4) - 1).clamp_min(0) for _ in range(2)]
    assert float((outputs[0] - outputs[1]).abs().median()) == 0
    assert not rule.power(outputs, ErrorQuantiles(p50=0.1, p99=0.1, p999=0.1, max=0.1)).admissible
    assert power(outputs, 1e-3).admissible


def test_what_never_changes_is_inadmissible_however_small_the_bound():
    found = power([doubles([7.0] * 4)] * 2, 0.0)
    assert not found.admissible
    assert found.spread == 0.0


def test_infinities_must_lie_where_the_reference_has_them():
    one = doubles([[math.inf, 1.0], [2.0, math.inf]])
    other = doubles([[5.0, math.inf], [math.inf, 9.0]])
    assert power([one, other], 1e-6).trivial == ()


def test_outputs_without_a_finite_value():
    found = power([doubles([math.nan] * 2)] * 2, 1e-6)
    assert not found.admissible


def test_two_outputs_of_equal_shape_are_needed():
    with pytest.raises(ValueError, match="at least two"):
        power([torch.zeros(2)], 1e-6)
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\)"):
        power([torch.zeros(2), torch.zeros(3)], 1e-6)


def test_pieces_find_what_the_whole_finds(monkeypatch):
    outputs = [torch.softmax(normal(5, 31), -1) for _ in range(3)]
    outputs[1][2, 3], outputs[2][0] = math.inf, math.nan
    monkeypatch.setattr(figures, "_PIECE_ON_HOST", 1 << 20)
    whole = power(outputs, 1e-3, outputs[0].float())
    monkeypatch.setattr(figures, "_PIECE_ON_HOST", 7)
    found = power(outputs, 1e-3, outputs[0].float())
    assert (found.trivial, found.because) == (whole.trivial, whole.because)
    assert found.spread == pytest.approx(whole.spread, rel=1e-12)
    assert found.bound_share == pytest.approx(whole.bound_share, rel=1e-12)


def test_one_element_beyond_the_bound_is_enough_wherever_it_lies():
    for where in (0, 9, 19):
        outputs = [torch.zeros(4, 5, dtype=torch.float64) for _ in range(2)]
        for one in outputs:
            one.view(-1)[where] = 1.0
        assert "zeros" not in power(outputs, 0.5).trivial
        assert "zeros" in power(outputs, 1.5).trivial


def test_outputs_that_lie_otherwise_in_memory():
    outputs = [normal(6, 5) for _ in range(3)]
    found, turned = power(outputs, 1e-3), power([one.t().contiguous().t() for one in outputs], 1e-3)
    assert found.trivial == turned.trivial and found.spread == pytest.approx(turned.spread, rel=1e-12)
    rows = [normal(1, 5).expand(6, 5) for _ in range(3)]
    assert power([one.t().contiguous().t() for one in rows], 1e-6).trivial == ("its first row for all rows",)


@pytest.mark.parametrize("narrow", [torch.float32, torch.bfloat16])
def test_an_input_in_its_own_type_is_tried_as_it_is(narrow):
    given = uniform(3, 3).to(narrow)
    assert "the input itself" in power([given.double(), uniform(3, 3)], 1e-9, given).trivial
    assert "the input itself" not in power([given.double() + 1e-6, uniform(3, 3)], 1e-9, given).trivial


def test_spreads_beyond_the_square_root_of_the_largest_number():
    assert power([doubles([1e300, 0.0]), doubles([-1e300, 0.0])], 1.0).spread == 2e300


def test_the_middle_of_extremes_is_a_number_however_far_they_lie_apart():
    outputs = [doubles([1.7e308, -1.7e308])] * 2
    assert "one constant" not in power(outputs, 1.0).trivial
    assert "zeros" in power([doubles([])] * 2, 1.0).trivial


def test_an_excerpt_is_as_good_as_the_whole(monkeypatch):
    monkeypatch.setattr(rule, "EXCERPT_ELEMENTS", 1 << 10)
    torch.manual_seed(0)
    whole = [torch.randn(3, 64, 50, dtype=torch.float64) for _ in range(3)]
    parts = [rule.excerpt(each) for each in whole]
    assert all(1 << 10 <= part.numel() <= 2 << 10 for part in parts)
    assert torch.equal(parts[0], whole[0][:, ::9])
    bound = ErrorQuantiles(p50=1e-3, p99=1e-3, p999=1e-3, max=1e-3)
    assert rule.power(parts, bound).admissible and rule.power(whole, bound).admissible
    assert rule.power(parts, bound).bound_share == pytest.approx(rule.power(whole, bound).bound_share, rel=0.2)
    same = [whole[0][:1].expand(3, 64, 50)] * 3
    assert not rule.power([rule.excerpt(each) for each in same], bound).admissible


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 64))
def test_of_any_shape_an_excerpt_takes_whole_slices_of_two_places_or_more(shape, elements):
    values = torch.arange(math.prod(shape), dtype=torch.float64).reshape(shape)
    with mock.patch.object(rule, "EXCERPT_ELEMENTS", elements):
        found = rule.excerpt(values)
    if values.numel() < 2 * elements:
        assert found is values
        return
    (axis,) = [axis for axis in range(values.dim()) if found.shape[axis] != values.shape[axis]] or [0]
    assert found.shape[axis] >= 2 or values.shape[axis] < 2
    assert torch.isin(found, values).all() and found.dim() == values.dim()
