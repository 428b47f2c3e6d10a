"""Random answers beside the reference's: distances from what was drawn, figures of the distribution, answers on the
clock.
"""

import pytest
import torch

from strop.records.evidence import Draws
from strop.stats.draws import (
    CLOCKED_RATE,
    FALSE_ALARM_RATE,
    FIGURES,
    RUNS,
    chance_of_odd,
    clocked_figure,
    departures,
    figures,
)

WEIGHTS = torch.linspace(0.2, 2.0, 24 * 20, dtype=torch.float64).reshape(24, 20)


@pytest.fixture(autouse=True)
def _one_thread():
    """As the court has it: the products are small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def runs_of(one, count=RUNS, seed=0):
    torch.manual_seed(seed)
    return torch.stack([one().reshape(-1) for _ in range(count)])


def dropped(p=0.25, scale=None, rows=24):
    mask = (torch.rand(rows, 20) >= p).double()
    return WEIGHTS * mask * (1 / (1 - p) if scale is None else scale)


def noticed(got, rate=FALSE_ALARM_RATE, rounding=1e-7):
    drawn, baseline = runs_of(dropped, seed=101), runs_of(dropped, seed=102)
    found = figures(got, drawn, baseline, rounding=rounding, rate=rate)
    return [figure.about for figure in found if figure.chance < figure.least]


def test_draws_of_one_distribution_are_no_difference():
    drawn, baseline = runs_of(dropped, seed=101), runs_of(dropped, seed=102)
    found = figures(runs_of(dropped), drawn, baseline, rounding=1e-7, rate=FALSE_ALARM_RATE)
    assert [figure.about for figure in found] == [Draws.MEANS, Draws.VARIANCES, Draws.TIES, Draws.SHARES]
    assert all(figure.chance > 0.001 and figure.least == FALSE_ALARM_RATE / FIGURES for figure in found)
    assert not departures(runs_of(dropped), drawn).any()


@pytest.mark.parametrize(
    ("one", "about"),
    [
        (lambda: dropped(scale=1.0), Draws.MEANS),
        (lambda: dropped(p=0.5), Draws.VARIANCES),
        (lambda: dropped(rows=1), Draws.TIES),
        (lambda: dropped(p=0.28), Draws.SHARES),
        (lambda: WEIGHTS, Draws.VARIANCES),
    ],
)
def test_another_distribution_is_a_difference(one, about):
    assert about in noticed(runs_of(one))


@pytest.mark.parametrize("masks", [1, 8, 16])
def test_masks_that_come_again_are_a_difference(masks):
    assert noticed(runs_of(dropped, count=masks).repeat(RUNS // masks, 1))


def test_the_first_difference_ends_the_search():
    drawn, baseline = runs_of(dropped, seed=101), runs_of(dropped, seed=102)
    found = figures(runs_of(lambda: dropped(scale=1.0)), drawn, baseline, rounding=1e-7, rate=FALSE_ALARM_RATE)
    assert len(found) == 1 and found[0].baseline_excess == 0.0 and found[0].excess > 0


def test_what_the_baseline_does_too_is_measured():
    drawn, theirs = runs_of(dropped, seed=101), runs_of(lambda: dropped(p=0.4), seed=102)
    found = figures(runs_of(lambda: dropped(p=0.4)), drawn, theirs, rounding=1e-7, rate=FALSE_ALARM_RATE)
    seen = [figure for figure in found if figure.chance < figure.least]
    assert seen and all(figure.excess < 4 * figure.baseline_excess for figure in seen)


def test_what_is_not_finite_counts_by_its_share():
    got = runs_of(dropped)
    once, always = got.clone(), got.clone()
    once[3, 5], always[:, 5] = torch.inf, torch.nan
    assert not noticed(once)
    assert Draws.SHARES in noticed(always)
    assert departures(always, runs_of(dropped, seed=101))[5].isnan()


def test_nothing_is_compared_where_nothing_varies():
    still = torch.ones(RUNS, 7, dtype=torch.float64)
    assert figures(still, still, still, rounding=1e-7, rate=FALSE_ALARM_RATE) == ()
    assert figures(still + 1e-7, still, still, rounding=1e-7, rate=FALSE_ALARM_RATE) == ()
    assert clocked_figure(still[:1], still, rounding=1e-7) is None


def test_departures_of_what_never_varies_are_the_errors_of_most_runs():
    drawn = torch.tensor([[1.0, 2.0]], dtype=torch.float64).expand(RUNS, -1)
    got = drawn.clone()
    # Half of the runs may be what chance kept from the reference.
    got[: RUNS // 2, 0], got[: RUNS // 2, 1] = 7.0, torch.nan
    assert departures(got, drawn).tolist() == [6.0, pytest.approx(torch.nan, nan_ok=True)]
    got[0] = drawn[0]
    assert departures(got, drawn).tolist() == [0.0, 0.0]


def test_departures_of_what_takes_few_values_are_those_from_the_nearest():
    drawn = torch.tensor([0.0, 4.0], dtype=torch.float64).repeat(RUNS // 2)[:, None]
    assert departures(torch.full_like(drawn, 3.0), drawn).item() == 1.0
    assert departures(torch.full_like(drawn, 5.0), drawn).item() == 1.0
    assert departures(torch.full_like(drawn, -2.0), drawn).item() == 2.0
    rare = drawn.clone()
    rare[: RUNS // 2] = 3.0
    assert departures(rare, drawn).item() == 0.0


def test_departures_of_what_takes_any_value_are_those_from_the_range():
    drawn = torch.linspace(0, 1, RUNS, dtype=torch.float64)[:, None]
    assert departures(drawn + 3.0, drawn).item() == pytest.approx(2 + (RUNS // 8) / (RUNS - 1))
    assert departures(drawn + 0.5, drawn).item() == 0.0
    assert departures(torch.full_like(drawn, 0.51), drawn).item() == 0.0


def test_an_answer_on_the_clock_is_an_odd_one_or_not():
    drawn = runs_of(dropped, count=16, seed=101)
    usual = clocked_figure(runs_of(dropped, count=1), drawn, rounding=1e-7)
    assert (usual.about, usual.chance, usual.excess, usual.least) == (Draws.SIZE, 1.0, 0.0, CLOCKED_RATE)
    strange = [WEIGHTS, 2 * WEIGHTS, torch.full_like(WEIGHTS, torch.nan)]
    for one in strange:
        odd = clocked_figure(one.reshape(1, -1), drawn, rounding=1e-7)
        assert odd.chance == pytest.approx(1 / 17) and odd.excess == 1.0


def test_several_odd_answers_are_no_chance():
    assert chance_of_odd(0, 12, 16) == pytest.approx(1.0)
    assert chance_of_odd(1, 1, 16) == pytest.approx(1 / 17)
    assert chance_of_odd(2, 12, 16) > CLOCKED_RATE > chance_of_odd(12, 12, 16)
