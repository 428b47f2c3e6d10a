"""Would a trivial answer pass?"""

import numpy as np
import pytest

from strop.stats.power import judge_power, power

RANDOM = np.random.default_rng(3)


def softmax(x):
    wide = np.exp(x - x.max(-1, keepdims=True))
    return wide / wide.sum(-1, keepdims=True)


def test_a_workload_that_answers_its_inputs_is_admissible():
    found = power([RANDOM.standard_normal((8, 16)) for _ in range(3)], 1e-5)
    assert found.admissible
    assert found.trivial == ()
    assert found.because == ""
    assert found.spread == pytest.approx(np.sqrt(2), rel=0.2)
    assert judge_power([np.zeros(4), np.ones(4)], 1e-6) == ""


def test_zeros_pass_for_a_softmax_over_a_long_row_under_an_absolute_bound():
    outputs = [softmax(RANDOM.random((4, 65536))) for _ in range(2)]
    assert "zeros" in power(outputs, 1e-4).trivial
    assert power(outputs, 1e-10).admissible


def test_a_constant_passes_for_a_large_and_nearly_constant_sum():
    outputs = [283_470 + 6 * RANDOM.standard_normal(128) for _ in range(3)]
    found = power(outputs, 28.0)
    assert "one constant" in found.trivial
    assert "zeros" not in found.trivial
    assert "one constant and the answer for other inputs would pass" in found.because


def test_the_answer_for_other_inputs_passes_where_the_input_is_not_read():
    answer = RANDOM.standard_normal((2, 10))
    assert "the answer for other inputs" in power([answer, answer.copy()], 1e-6).trivial


def test_one_row_passes_where_all_rows_are_alike():
    outputs = [np.broadcast_to(RANDOM.standard_normal((1, 5)), (6, 5)) for _ in range(3)]
    assert power(outputs, 1e-6).trivial == ("its first row for all rows",)


def test_the_input_itself_passes_where_nothing_happens_to_it():
    given = RANDOM.random((3, 3))
    outputs = [np.maximum(given, 0), np.maximum(RANDOM.random((3, 3)), 0)]
    assert power(outputs, 1e-6, given).trivial == ("the input itself",)
    assert power([-one for one in outputs], 1e-6, given).admissible


def test_an_input_of_another_shape_is_no_answer():
    assert power([np.eye(2), 2 * np.eye(2)], 1e-6, np.eye(2).reshape(4)).admissible


def test_the_bound_must_be_small_beside_the_spread():
    outputs = [RANDOM.standard_normal(1000) for _ in range(2)]
    found = power(outputs, 0.1)
    assert found.trivial == ()
    assert not found.admissible
    assert "must be below 5%" in found.because


def test_what_never_changes_is_inadmissible_however_small_the_bound():
    found = power([np.full(4, 7.0)] * 2, 0.0)
    assert not found.admissible
    assert found.spread == 0.0


def test_infinities_must_lie_where_the_reference_has_them():
    one = np.array([[np.inf, 1.0], [2.0, np.inf]])
    other = np.array([[5.0, np.inf], [np.inf, 9.0]])
    assert power([one, other], 1e-6).trivial == ()


def test_outputs_without_a_finite_value():
    found = power([np.full(2, np.nan)] * 2, 1e-6)
    assert not found.admissible


def test_two_outputs_of_equal_shape_are_needed():
    with pytest.raises(ValueError, match="at least two"):
        power([np.zeros(2)], 1e-6)
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\)"):
        power([np.zeros(2), np.zeros(3)], 1e-6)
