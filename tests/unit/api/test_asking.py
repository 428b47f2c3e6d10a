"""What was asked for, as a record; what was not said is the default, or what the run was asked for before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.api.asking import Asked, budget_s
from strop.errors import UsageError
from strop.records.contract import CONTRACTS
from strop.records.event import Request
from strop.records.workload import Mode


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90.0), ("5m", 300.0), ("1h30m", 5400.0), ("1.5m", 90.0), ("1h 2m 3s", 3723.0), ("2H", 7200.0), (7, 7.0)],
)
def test_budgets(text, seconds):
    assert budget_s(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5 minutes", "30m1h", "-5m", "0m", "1e3s", 0, -1.0, float("inf")])
def test_what_is_no_budget(text):
    with pytest.raises(UsageError):
        budget_s(text)


@given(st.integers(0, 50), st.integers(0, 59), st.integers(1, 59))
def test_budgets_add_up(hours, minutes, seconds):
    assert budget_s(f"{hours}h{minutes}m{seconds}s") == 3600 * hours + 60 * minutes + seconds


def test_nothing_said_is_the_default():
    assert Asked().checked() == Request(contract=CONTRACTS["fp32"])
    assert Asked().chosen_mode() is None


def test_everything_said():
    asked = Asked(
        contract="tf32",
        baselines=["eager", "max-autotune", "eager"],
        budget="90s",
        max_memory_ratio=1.5,
        max_error_ratio=1.0,
        forbid=["work_removed"],
        search="greedy",
        seed=3,
        mode="eval",
    )
    assert asked.checked() == Request(
        contract=CONTRACTS["tf32"],
        baselines=("eager", "max-autotune"),
        budget_s=90.0,
        max_memory_ratio=1.5,
        max_error_ratio=1.0,
        forbid=("work_removed",),
        seed=3,
    )
    assert asked.chosen_mode() is Mode.EVAL


def test_a_resumed_run_keeps_what_is_not_said_again():
    before = Request(contract=CONTRACTS["bf16"], baselines=("eager",), budget_s=10.0, seed=5)
    assert Asked().checked(before) == before
    assert Asked(budget="20s").checked(before).budget_s == 20.0
    assert Asked(budget="20s").checked(before).baselines == ("eager",)
