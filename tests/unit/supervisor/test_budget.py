"""When the search must stop: the budget, its guaranteed share, and the time that a confirmation will take."""

import pytest

from strop.supervisor.budget import CONFIRMATION_TIMES, OVERRUN_S, SEARCH_FRACTION, is_spent
from strop.supervisor.state import run_state
from tests.unit.supervisor.test_resume import whole


def test_the_budget_ends_the_search():
    assert not is_spent(60.0, 59.9, 10.0, 0.0)
    assert is_spent(60.0, 60.0, 10.0, 0.0)


def test_a_long_survey_leaves_the_search_its_share():
    assert not is_spent(60.0, 500.0 + 60.0 * SEARCH_FRACTION - 0.1, 500.0, 0.0)
    assert is_spent(60.0, 500.0 + 60.0 * SEARCH_FRACTION, 500.0, 0.0)


@pytest.mark.parametrize("screening_s", [5.0, 20.0, 33.0])
def test_what_was_found_can_still_be_confirmed_in_time(screening_s):
    """Whenever one more candidate may begin, it and the confirmation end within the overrun."""
    latest_s = 120.0 + OVERRUN_S - (1 + CONFIRMATION_TIMES) * screening_s
    assert is_spent(120.0, latest_s + 0.1, 30.0, screening_s)
    assert is_spent(120.0, latest_s - 0.1, 30.0, screening_s) == (latest_s - 0.1 >= 120.0)


def test_the_ledger_knows_how_long_the_longest_screening_took():
    _, ledger = whole()
    # The scripted ledger's clock ticks once a second: proposed, judged, decided.
    assert run_state(ledger.events("r-1")).longest_screening_s == 2.0
