"""The baseline against itself, and what could be seen above its noise."""

import math

import numpy as np
import pytest

from strop.records.measurement import BASELINE, CANDIDATE, Block
from strop.stats.noise import noise_ratio, smallest_gain_ratio, worth_ns


def baseline_blocks(logs, process=0):
    return [
        Block(side=BASELINE, pair=i, process=process, calls=1, elapsed_ns=round(1e9 * math.exp(x)), null_ns=0)
        for i, x in enumerate(logs)
    ]


def test_the_spread_of_a_block_is_found():
    logs = 0.03 * np.random.default_rng(0).standard_normal(4000)
    assert noise_ratio(baseline_blocks(logs)) == pytest.approx(0.03, rel=0.06)


def test_a_drift_is_no_noise_and_processes_are_not_mixed():
    drifting = baseline_blocks(np.linspace(0.0, 0.5, 200)) + baseline_blocks(np.linspace(3.0, 3.5, 200), process=1)
    assert noise_ratio(drifting) < 0.005


def test_nothing_to_compare_is_no_noise_seen():
    assert noise_ratio([]) == 0.0
    assert noise_ratio(baseline_blocks([0.0])) == 0.0
    other = [Block(side=CANDIDATE, pair=0, process=0, calls=1, elapsed_ns=5, null_ns=0)] * 3
    assert noise_ratio(other) == 0.0


def test_more_effort_shows_less():
    once = smallest_gain_ratio(0.02, pairs=6, processes=1)
    assert smallest_gain_ratio(0.02, pairs=24, processes=1) < once / 2
    assert smallest_gain_ratio(0.02, pairs=6, processes=3, between_ratio=0.01) > smallest_gain_ratio(
        0.02, pairs=6, processes=3
    )


def test_a_quiet_machine_is_still_held_to_one_percent():
    assert worth_ns(1e6, 0.0, pairs=6, processes=3) == pytest.approx(1e6 * (1 - 1 / 1.01))


def test_on_a_noisy_machine_more_must_be_won():
    assert worth_ns(1e6, 0.05, pairs=6, processes=3) > 50_000


def test_one_pair_shows_nothing():
    with pytest.raises(ValueError, match="at least two"):
        smallest_gain_ratio(0.01, pairs=1, processes=1)
