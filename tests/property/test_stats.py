"""Statistics on simulated truth: what intervals cover, how often equal things are called faster, laws of errors.

The simulations are seeded: they test the method, not the luck of a run.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from strop.records.evidence import ErrorQuantiles
from strop.records.measurement import TimeDecision
from strop.records.tensor import DType
from strop.stats import figures
from strop.stats.compare import INTERVAL, decide, estimate
from strop.stats.errors import envelope
from strop.stats.figures import error_quantiles, honest_errors, leaf_errors
from strop.stats.sequential import Plan, consider

TRIALS = 5000
# Few resamples make a simulation quick; the bootstrap's own noise then only adds to what is tested.
RESAMPLES = 100


def lognormal(random, shape):
    return 0.03 * random.standard_normal(shape)


def heavy_tailed(random, shape):
    return 0.02 * random.standard_t(2.5, shape)


def two_humped(random, shape):
    """Each side of each pair is in a fast or a slow state, a third apart."""
    return 0.01 * random.standard_normal(shape) + 0.15 * (random.integers(0, 2, shape) - random.integers(0, 2, shape))


def drifting(random, shape):
    """A B B A leaves nothing of a steady drift; a bent one leaves a little, the same way for all pairs of a process."""
    bend = 0.002 * random.standard_normal((*shape[:-1], 1))
    return 0.02 * random.standard_normal(shape) + bend * np.linspace(-1, 1, shape[-1])


NOISES = [lognormal, heavy_tailed, two_humped, drifting]


def simulated(noise, *, processes, pairs, between, trials, seed=20):
    random = np.random.default_rng(seed)
    shape = (trials, processes, pairs)
    return noise(random, shape) + between * random.standard_normal((trials, processes, 1))


def effects(samples):
    return [estimate(list(one), resamples=RESAMPLES, seed=index) for index, one in enumerate(samples)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("processes", "pairs", "between"), [(1, 8, 0.0), (3, 6, 0.03)])
def test_equal_things_are_called_faster_in_at_most_one_percent(noise, processes, pairs, between):
    samples = simulated(noise, processes=processes, pairs=pairs, between=between, trials=TRIALS)
    decided = [decide(effect) for effect in effects(samples)]
    assert decided.count(TimeDecision.FASTER) <= 0.01 * TRIALS


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("processes", "pairs", "between"), [(1, 10, 0.0), (3, 6, 0.0), (3, 6, 0.03), (5, 6, 0.03)])
def test_the_interval_covers_the_truth(noise, processes, pairs, between):
    trials = 1000
    samples = 0.1 + simulated(noise, processes=processes, pairs=pairs, between=between, trials=trials)
    covered = sum(low <= 0.1 <= high for low, high in (effect.limits(INTERVAL) for effect in effects(samples)))
    # Three standard deviations of the count below what is promised.
    assert covered / trials >= INTERVAL - 3 * math.sqrt(0.95 * 0.05 / trials)


def test_looking_three_times_is_paid_for():
    plan = Plan((3, 5, 8))
    false = 0
    for index, sample in enumerate(simulated(lognormal, processes=1, pairs=8, between=0.0, trials=TRIALS)):
        for number, pairs in enumerate(plan.looks):
            look = consider(plan, number, estimate([sample[0, :pairs]], resamples=RESAMPLES, seed=index))
            if look.stop:
                false += look.decision is TimeDecision.FASTER
                break
    assert false <= 0.01 * TRIALS


def test_a_gain_of_a_tenth_is_seen_on_a_machine_as_quiet_as_it_should_be():
    samples = 0.1 + simulated(lambda r, s: 0.01 * r.standard_normal(s), processes=3, pairs=6, between=0.005, trials=400)
    assert [decide(effect) for effect in effects(samples)].count(TimeDecision.FASTER) > 0.95 * 400


def test_both_sides_are_treated_alike():
    sample = list(simulated(lognormal, processes=3, pairs=6, between=0.02, trials=1)[0])
    there, back = estimate(sample), estimate([-one for one in sample])
    assert there.log_ratio == pytest.approx(-back.log_ratio)
    assert there.error == pytest.approx(back.error)


FINITE = st.floats(-1e6, 1e6, allow_nan=False, width=32)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, max_side=6)
TENSORS = hnp.arrays(np.float64, SHAPES, elements=FINITE).map(torch.as_tensor)
ANYTHING = hnp.arrays(np.float64, 40, elements=st.floats(width=64)).map(torch.as_tensor)


@given(TENSORS, st.floats(-3, 3))
def test_quantiles_rise_and_end_at_the_largest_error(expected, shift):
    actual = expected + shift * expected.abs()
    found = error_quantiles(actual, expected)
    assert list(found.as_tuple()) == sorted(found.as_tuple())
    assert found.max == float((actual - expected).abs().max())


@given(TENSORS)
def test_what_equals_the_reference_has_no_error_and_no_mismatch(expected):
    found = leaf_errors("y", DType.FLOAT64, candidate=expected, baseline=expected, honest=[], expected=expected)
    assert found.candidate.as_tuple() == (0.0, 0.0, 0.0, 0.0)
    assert found.mask_mismatches == 0


@given(ANYTHING, ANYTHING)
def test_every_element_is_either_in_the_quantiles_or_in_the_masks(actual, expected):
    found = leaf_errors("y", DType.FLOAT64, candidate=actual, baseline=expected, honest=[], expected=expected)
    overflow = expected.abs() >= torch.finfo(torch.float64).max
    wrong = torch.isfinite(actual) != (torch.isfinite(expected) & ~overflow)
    if wrong.any():
        assert found.mask_mismatches > 0
    assert math.isfinite(found.candidate.max)


# Counting in bins costs by the piece: there they are fewer.
SIZES = st.tuples(st.integers(1, 50), st.just(1 << 20)) | st.tuples(st.integers(10, 50), st.just(1))


@settings(max_examples=50)
@given(ANYTHING, ANYTHING, ANYTHING, SIZES)
def test_pieces_of_any_size_give_the_same_figures(candidate, baseline, expected, sizes):
    piece, exact_below = sizes

    def judged(size):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(figures, "_PIECE_ON_HOST", size)
            patch.setattr(figures, "_EXACT_BELOW", exact_below)
            sides = {"candidate": candidate.float(), "baseline": baseline, "expected": expected}
            honest = honest_errors(DType.FLOAT64, sample=candidate, **sides)
            return leaf_errors("y", DType.FLOAT64, **sides), honest

    assert judged(piece) == judged(1 << 20)


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=6), st.integers(1, 10**6))
def test_the_envelope_is_never_below_what_was_seen(tops, elements):
    samples = [ErrorQuantiles(p50=top / 4, p99=top / 2, p999=top, max=top) for top in tops]
    found = envelope(samples, elements)
    for sample in samples:
        assert all(a <= b for a, b in zip(sample.as_tuple(), found.as_tuple(), strict=True))
    assert list(found.as_tuple()) == sorted(found.as_tuple())


@pytest.mark.parametrize(("elements", "trials"), [(1, 4000), (40, 3000), (1000, 1000)])
@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_a_twin_of_the_honest_model_keeps_the_bound(elements, trials, shared):
    """Baseline, candidate and honest samples alike, elements independent or all moved by one shared error.

    The floor, which would forgive more, is left out.
    """
    random = np.random.default_rng(elements)

    def draw():
        own = (1 - shared) * random.uniform(-1, 1, elements)
        return torch.as_tensor(own + shared * random.uniform(-1, 1) + 0.1 * random.uniform(-1, 1, elements))

    zeros = torch.zeros(elements, dtype=torch.float64)
    broken = 0
    for _ in range(trials):
        candidate, baseline, *honest = (error_quantiles(draw(), zeros) for _ in range(6))
        limit = envelope(honest, elements)
        allowed = (2 * max(b, h) for b, h in zip(baseline.as_tuple(), limit.as_tuple(), strict=True))
        broken += not all(error <= one for error, one in zip(candidate.as_tuple(), allowed, strict=True))
    assert broken / trials <= 0.001
