"""Geometric means of speedups, and intervals that are as wide as what they summarise."""

import math
from dataclasses import replace

import numpy as np
import pytest

from strop.records.measurement import BASELINE, CANDIDATE, Block
from strop.stats.compare import compare_blocks, estimate, pair_log_ratios
from strop.stats.score import UNIMPROVED, Gain, gain_of, geometric_mean
from tests.unit.supervisor.makers import CONDITIONS, comparison


def blocks(processes, pairs, speedup=2.0, spread=0.05, seed=0):
    random = np.random.default_rng(seed)
    made = []
    for process in range(processes):
        shift = random.normal(0, spread)
        for pair in range(pairs):
            for side, factor in ((BASELINE, speedup), (CANDIDATE, 1.0)):
                noise = math.exp(random.normal(shift if side == BASELINE else 0.0, spread / 3))
                elapsed_ns = int(1e6 * factor * noise)
                made.append(Block(side=side, pair=pair, process=process, calls=1, elapsed_ns=elapsed_ns, null_ns=0))
    return made


@pytest.mark.parametrize(("processes", "pairs"), [(3, 5), (1, 8)])
def test_a_comparison_gives_back_the_error_that_made_its_interval(processes, pairs):
    measured = blocks(processes, pairs)
    effect = estimate(pair_log_ratios(measured))
    gain = gain_of(compare_blocks(measured, baseline="eager", conditions=[CONDITIONS]))
    assert gain.log_ratio == pytest.approx(effect.log_ratio)
    assert gain.error == pytest.approx(effect.error)


def test_the_mean_is_geometric_and_counts_what_was_not_improved():
    mean = geometric_mean([Gain(math.log(4.0)), UNIMPROVED])
    assert mean is not None and mean.geomean == pytest.approx(2.0)
    assert (mean.low, mean.high) == (pytest.approx(1.0), pytest.approx(4.0))


def test_nothing_has_no_mean():
    assert geometric_mean([]) is None


def test_nothing_improved_is_exactly_one():
    mean = geometric_mean([UNIMPROVED] * 5)
    assert mean is not None and (mean.low, mean.geomean, mean.high) == (1.0, 1.0, 1.0)


def test_one_workload_has_the_interval_of_its_measurement():
    mean = geometric_mean([Gain(math.log(2.0), 0.1)])
    assert mean is not None
    assert math.log(mean.high / mean.low) == pytest.approx(2 * 1.96 * 0.1, rel=0.05)


def test_both_levels_widen_it():
    between = geometric_mean([Gain(math.log(s)) for s in (1.2, 1.5, 2.0, 3.0)])
    both = geometric_mean([Gain(math.log(s), 0.4) for s in (1.2, 1.5, 2.0, 3.0)])
    assert between is not None and both is not None
    assert both.low < between.low and both.high > between.high
    assert both.geomean == between.geomean


def test_the_interval_covers_what_it_says():
    """Suites of 40 from a population whose mean is known: about 95 of 100 intervals hold it."""
    random = np.random.default_rng(1)
    held = 0
    for trial in range(200):
        truth = random.exponential(0.3, 40)
        gains = [Gain(value + random.normal(0, 0.1), 0.1) for value in truth]
        mean = geometric_mean(gains, resamples=500, seed=trial)
        assert mean is not None
        held += mean.low <= math.exp(0.3) <= mean.high
    assert 0.88 <= held / 200 <= 0.99


def test_the_same_gains_give_the_same_answer():
    gains = [gain_of(comparison(1.5)), gain_of(replace(comparison(2.0), processes=3)), UNIMPROVED]
    assert geometric_mean(gains) == geometric_mean(gains)
