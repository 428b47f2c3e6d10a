"""Paired comparison: pairing, estimates, decisions, refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest

from strop.records.measurement import BASELINE, CANDIDATE, Block, Conditions, TimeDecision
from strop.stats.compare import (
    Effect,
    IncomparableSamples,
    compare_blocks,
    decide,
    estimate,
    one_condition,
    pair_log_ratios,
    side_ns,
)
from strop.stats.student import student_quantile

HERE = Conditions(machine="m", device="cpu", threads=1, contract="fp32", versions=(("torch", "2.13.0"),))
ABBA = (BASELINE, CANDIDATE, CANDIDATE, BASELINE)


def blocks(speedup=1.25, *, processes=3, pairs=8, noise=0.01, drift=0.0, seed=0, null_ns=100_000, base_ns=1e6):
    random = np.random.default_rng(seed)
    made, clock = [], 0.0
    for process in range(processes):
        for pair in range(pairs):
            for side in ABBA:
                true_ns = base_ns / (speedup if side == CANDIDATE else 1.0)
                call_ns = true_ns * math.exp(noise * random.standard_normal() + drift * clock)
                clock += 1
                made.append(
                    Block(
                        side=side,
                        pair=pair,
                        process=process,
                        calls=10,
                        elapsed_ns=round(10 * call_ns) + null_ns,
                        null_ns=null_ns,
                    )
                )
    return made


def compared(samples, **changes):
    return compare_blocks(samples, **({"baseline": "default", "conditions": (HERE,)} | changes))


def test_a_clear_gain_is_faster():
    found = compared(blocks(1.25))
    assert found.decision is TimeDecision.FASTER
    assert found.low < 1.25 < found.high
    assert found.speedup == pytest.approx(1.25, rel=0.02)
    assert (found.pairs, found.processes, found.baseline) == (24, 3, "default")
    assert found.baseline_ns == pytest.approx(1e6, rel=0.02)
    assert found.candidate_ns == pytest.approx(8e5, rel=0.02)
    assert found.conditions == HERE
    assert len(found.blocks) == 96


def test_the_raw_ratio_keeps_the_hand_off_in():
    found = compared(blocks(2.0, null_ns=10_000_000))
    assert found.speedup == pytest.approx(2.0, rel=0.03)
    assert found.raw_speedup == pytest.approx(20 / 15, rel=0.03)


def test_a_round_that_is_all_hand_off_gives_no_boundless_speedup():
    samples = [
        replace(block, elapsed_ns=1_000_000 if block.side == BASELINE else 400_000, null_ns=400_000)
        for block in blocks(processes=1, pairs=4)
    ]
    found = compared(samples)
    assert found.raw_speedup == pytest.approx(2.5)
    assert found.speedup == pytest.approx(600 / 40)
    assert found.candidate_ns == pytest.approx(4_000.0)


def test_a_clear_loss_is_slower():
    assert compared(blocks(0.8)).decision is TimeDecision.SLOWER


def test_no_difference_is_undecided():
    assert compared(blocks(1.0)).decision is TimeDecision.UNDECIDED


def test_less_than_one_percent_is_not_called_faster_however_sure():
    found = compared(blocks(1.005, noise=1e-5))
    assert found.low > 1
    assert found.decision is TimeDecision.UNDECIDED


def test_a_steady_drift_cancels():
    found = compared(blocks(1.0, noise=1e-6, drift=0.002))
    assert found.speedup == pytest.approx(1.0, abs=1e-3)


def test_the_same_samples_give_the_same_answer():
    samples = blocks(1.1, noise=0.05)
    assert compared(samples) == compared(samples)
    assert compared(samples, seed=1).low != compared(samples).low


def test_what_was_measured_elsewhere_is_handed_through():
    found = compared(blocks(), kernel_speedup=1.5, peak_memory_ratio=0.75)
    assert (found.kernel_speedup, found.peak_memory_ratio) == (1.5, 0.75)


def test_spending_less_error_asks_for_more():
    samples = blocks(1.04, processes=1, pairs=6, noise=0.01, seed=3)
    assert compared(samples, false_faster_rate=0.2).decision is TimeDecision.FASTER
    assert compared(samples, false_faster_rate=1e-6).decision is TimeDecision.UNDECIDED


def test_different_conditions_are_not_pooled():
    other = replace(HERE, threads=2)
    with pytest.raises(IncomparableSamples, match="threads: 1 against 2"):
        compared(blocks(), conditions=(HERE, other))
    with pytest.raises(IncomparableSamples, match="without conditions"):
        compared(blocks(), conditions=())
    assert one_condition([HERE, HERE]) == HERE


def test_one_pair_is_not_enough():
    with pytest.raises(IncomparableSamples, match="at least two"):
        compared(blocks(processes=1, pairs=1))


def test_a_pair_without_one_side_is_left_out():
    samples = blocks(processes=1, pairs=3)
    half = [block for block in samples if block.pair != 1 or block.side == BASELINE]
    assert [len(values) for values in pair_log_ratios(half)] == [2]
    with pytest.raises(IncomparableSamples, match="both sides"):
        pair_log_ratios([block for block in samples if block.side == BASELINE])


def test_a_side_that_was_not_measured_has_no_time():
    with pytest.raises(IncomparableSamples, match="no block of the side 'candidate'"):
        side_ns([block for block in blocks() if block.side == BASELINE], CANDIDATE)


def test_two_wild_processes_still_give_finite_limits():
    samples = blocks(1.0, processes=1) + [replace(b, process=1) for b in blocks(1e5, processes=1, base_ns=1e9)]
    found = compared(samples)
    assert 0 < found.low < found.high < math.inf
    assert found.decision is TimeDecision.UNDECIDED


def test_processes_that_agree_exactly_are_decided_by_the_point():
    effect = estimate([np.full(4, 0.125)] * 3)
    assert effect.error == 0.0
    assert decide(effect) is TimeDecision.FASTER


def test_spread_between_processes_counts():
    apart = estimate([np.full(6, 0.1), np.full(6, 0.3), np.full(6, 0.5)])
    assert apart.log_ratio == pytest.approx(0.3)
    # The standard error of a mean of three with standard deviation 0.2.
    assert apart.error == pytest.approx(0.2 / math.sqrt(3), rel=0.05)
    assert (apart.degrees, apart.test_degrees) == (2, 2)
    assert decide(apart) is TimeDecision.UNDECIDED


def test_spread_within_processes_has_more_degrees_than_there_are_processes():
    random = np.random.default_rng(0)
    together = estimate([0.1 + 0.02 * random.standard_normal(10) for _ in range(3)])
    assert together.degrees == 2
    assert together.test_degrees > 5


def test_the_interval_is_students():
    effect = Effect(log_ratio=0.5, error=0.1, degrees=4, test_degrees=9)
    reach = student_quantile(0.975, 4) * 0.1
    assert effect.limits() == (pytest.approx(0.5 - reach), pytest.approx(0.5 + reach))
