"""Which precision errors look like."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.stats.downgrade import BEYOND, looks_like

LOWER = {"tf32": 3e-4, "fp16": 2.9e-4, "bf16": 2.4e-3}
BASELINE, HONEST = 3e-8, 1e-7


@pytest.mark.parametrize(
    ("candidate", "names"),
    [
        (3e-8, ()),
        (BEYOND * HONEST, ()),
        (6e-4, ("bf16",)),
        (7e-5, ("tf32", "fp16")),
        (2e-6, ()),
        (1.0, ()),
        (math.nan, ()),
    ],
)
def test_what_errs_like_a_precision_is_named_by_it(candidate, names):
    assert looks_like(candidate, BASELINE, HONEST, LOWER) == names


def test_a_baseline_that_shows_nothing_leaves_the_model_as_it_is():
    for baseline in (0.0, 2 * HONEST):
        assert looks_like(2.4e-3, baseline, HONEST, LOWER) == ("bf16",)


def test_a_contract_that_allows_a_precision_is_not_broken_by_it():
    assert looks_like(2.4e-3, 1e-3, 2.4e-3, LOWER) == ()
    assert looks_like(2.4e-3, 2e-4, 2.9e-4, LOWER) == ("bf16",)
    assert looks_like(1e-3, BASELINE, HONEST, {}) == ()


positive = st.floats(min_value=1e-12, max_value=1e3)


@given(positive, positive, positive, positive, st.floats(min_value=1e-3, max_value=1e3))
def test_the_answer_does_not_depend_on_the_unit(candidate, baseline, honest, other, unit):
    mine = looks_like(candidate, baseline, honest, {"bf16": other})
    scaled = looks_like(candidate * unit, baseline * unit, honest * unit, {"bf16": other * unit})
    near_a_limit = any(abs(math.log(ratio)) < 1e-9 for ratio in limits(candidate, baseline, honest, other))
    assert mine == scaled or near_a_limit


def limits(candidate, baseline, honest, other):
    share = baseline / honest if baseline < honest else 1.0
    promised = BEYOND * max(baseline, honest)
    return candidate / promised, other / promised, candidate / (share * other * 3), share * other / (candidate * 3)
