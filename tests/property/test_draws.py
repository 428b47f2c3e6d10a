"""Random answers under simulated truth: how often right ones are called another distribution, and how far rounding may
go. The simulations are seeded.
"""

import pytest
import torch

from strop.stats.draws import RUNS, clocked_figure, departures, figures

TRIALS = 320
RATE = 0.2
"""Of false alarms; what is dealt out does not depend on the rate, so a large one says most."""


def masks(p, elements):
    values = torch.linspace(-2, 2, elements)
    return lambda count: values * (torch.rand(count, elements) >= p) / (1 - p)


def products(count):
    weights = torch.randn(30, 40, generator=torch.Generator().manual_seed(1))
    return torch.tanh((torch.rand(count, 30) >= 0.3).float() @ weights)


def one_factor(count):
    return torch.rand(count, 1) * torch.arange(1.0, 40.0)


def one_switch(count):
    return (torch.rand(count, 1) >= 0.1) * torch.arange(1.0, 40.0)


def heavy_tails(count):
    return torch.randn(count, 60) / torch.randn(count, 60)


def one_number(count):
    return torch.randn(count, 1)


TRUTHS = [
    masks(0.25, 200),
    masks(0.01, 200),
    masks(0.9, 100),
    products,
    one_factor,
    one_switch,
    heavy_tails,
    one_number,
]


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(6)
    yield
    torch.set_num_threads(threads)


def test_right_answers_are_called_another_distribution_as_rarely_as_was_asked():
    alarms = 0
    for truth in TRUTHS:
        for _ in range(TRIALS // len(TRUTHS) + 1):
            got, drawn, baseline = (truth(RUNS).double() for _ in range(3))
            found = figures(got, drawn, baseline, rounding=1e-9, rate=RATE)
            alarms += any(figure.chance < figure.least for figure in found)
            assert not (departures(got, drawn) > 0).any()
    trials = len(TRUTHS) * (TRIALS // len(TRUTHS) + 1)
    assert alarms <= trials * (RATE + 3 * (RATE * (1 - RATE) / trials) ** 0.5)


@pytest.mark.parametrize("truth", TRUTHS)
def test_of_answers_of_one_distribution_at_most_one_is_odd(truth):
    answers = truth(17).double()
    odd = [
        found is not None and found.excess > 0
        for index in range(17)
        for found in [clocked_figure(answers[index : index + 1], answers[torch.arange(17) != index], rounding=1e-9)]
    ]
    assert sum(odd) <= 1


@pytest.mark.parametrize("elements", [50, 5000, 65536])
@pytest.mark.parametrize("times", [20, 100])
@pytest.mark.parametrize("common", [False, True])
def test_rounding_is_no_other_distribution(elements, times, common):
    """Every element of the candidate is off by twice what rounding does to any, or all of them by the same; what varies
    is hardly larger.
    """
    rounding = 1e-3
    offset = 0.4 * rounding if common else 2 * rounding * (2 * torch.rand(elements).double() - 1)
    got, drawn, baseline = (times * rounding * torch.randn(RUNS, elements).double() for _ in range(3))
    found = figures(got + offset, drawn, baseline, rounding=rounding, rate=3e-5)
    assert found and all(figure.chance >= figure.least for figure in found)
