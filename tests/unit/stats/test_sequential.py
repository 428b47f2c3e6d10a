"""Looking early: the error is spent once, and looking stops for a reason."""

import math

import pytest

from strop.records.measurement import TimeDecision
from strop.stats.compare import Effect
from strop.stats.sequential import Plan, Reason, consider, pairs_needed

PLAN = Plan((3, 6, 12))


def effect(log_ratio, error, pairs=6):
    return Effect(log_ratio=log_ratio, error=error, degrees=pairs - 1, test_degrees=pairs - 1)


def test_all_looks_together_spend_what_is_allowed():
    spent = [PLAN.spend(look) for look in range(3)]
    assert math.fsum(spent) == pytest.approx(0.01)
    assert all(0 < one < 0.01 for one in spent)


def test_early_looks_spend_little():
    assert PLAN.spend(0) < 1e-5 < PLAN.spend(1) < PLAN.spend(2)


def test_a_single_look_spends_everything():
    assert Plan((6,)).spend(0) == pytest.approx(0.01)


@pytest.mark.parametrize("looks", [(), (1, 3), (4, 4), (6, 3)])
def test_a_plan_that_makes_no_sense_is_refused(looks):
    with pytest.raises(ValueError, match="rising numbers"):
        Plan(looks)


def test_looks_are_due_at_the_planned_numbers_only():
    assert [PLAN.look(pairs) for pairs in (2, 3, 6, 7, 12)] == [None, 0, 1, None, 2]


def test_it_stops_when_decided():
    look = consider(PLAN, 1, effect(0.4, 0.001))
    assert (look.reason, look.decision, look.more_pairs, look.stop) == (Reason.DECIDED, TimeDecision.FASTER, 0, True)
    assert consider(PLAN, 0, effect(-0.4, 0.01)).decision is TimeDecision.SLOWER


def test_it_stops_when_no_gain_that_counts_is_left():
    look = consider(PLAN, 0, effect(0.001, 0.001))
    assert (look.reason, look.stop) == (Reason.HOPELESS, True)


def test_it_stops_at_the_end_of_the_plan():
    look = consider(PLAN, 2, effect(0.02, 0.05))
    assert (look.reason, look.decision) == (Reason.EXHAUSTED, TimeDecision.UNDECIDED)


def test_else_it_goes_on_to_the_next_look():
    look = consider(PLAN, 1, effect(0.02, 0.05))
    assert (look.reason, look.more_pairs, look.stop) == (Reason.GO_ON, 6, False)


def test_pairs_needed_grow_with_the_square_of_the_noise():
    few, many = pairs_needed(effect(0.1, 0.05), 6), pairs_needed(effect(0.1, 0.1), 6)
    assert few is not None
    assert many == pytest.approx(4 * few, rel=0.05)


def test_what_is_already_shown_needs_no_more():
    assert pairs_needed(effect(0.5, 0.001), 6) == 6


def test_no_number_of_pairs_shows_what_is_not_there():
    assert pairs_needed(effect(0.0, 0.05), 6) is None
