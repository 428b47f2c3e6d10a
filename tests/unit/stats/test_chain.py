"""What chained pairs say beside published ones: a lost saving is seen, noise and the chain's own cost are not."""

from dataclasses import replace

import numpy as np
import pytest

from strop.records.measurement import OPEN_SPEEDUP, Block
from strop.stats.chain import FALSE_ALARM_RATE, _misses, agreement

CALLS = 100
CALL_NS, NULL_NS = 1e5, 2e3
SIDES = ("baseline", "candidate", "candidate", "baseline")


def noise(kind, spread, count, random):
    if kind == "normal":
        return np.exp(spread * random.standard_normal(count))
    if kind == "heavy":
        return 1 + spread * np.abs(random.standard_t(2, count))
    if kind == "spikes":
        return 1 + (random.random(count) < 0.15) * random.exponential(10 * spread, count)
    return 1 + (random.random(count) < 0.5) * 3 * spread


def sampled(random, *, speedup, kept=True, glue=0.5, shift=0.0, kind="normal", spread=0.01, pairs=5):
    """Blocks of both clocks: ``kept`` says whether the chain sees the saving; ``glue`` and ``shift`` are shares."""
    batched, chained = [], []
    for pair in range(pairs):
        times = noise(kind, spread, 10, random) * np.exp(0.05 * random.standard_normal())
        nulls = NULL_NS * times[8], (NULL_NS + glue * CALL_NS) * times[9]
        for place, side in enumerate(SIDES):
            call = CALL_NS / (speedup if side == "candidate" else 1)
            slow = CALL_NS / (speedup if side == "candidate" and kept else 1)
            figures = call + NULL_NS, slow + NULL_NS + (glue + shift) * CALL_NS
            for blocks, figure, null, time in zip(
                (batched, chained), figures, nulls, times[[place, place + 4]], strict=True
            ):
                blocks.append(
                    Block(
                        side=side,
                        pair=pair,
                        process=2,
                        calls=CALLS,
                        elapsed_ns=int(figure * time * CALLS),
                        null_ns=int(null * CALLS),
                    )
                )
    return batched, chained


def test_a_saving_that_stays_is_shown_whatever_the_glue():
    for glue in (0.0, 0.5, 3.0):
        found = agreement(*sampled(np.random.default_rng(1), speedup=2.0, glue=glue, spread=0.001))
        assert found.speedup == pytest.approx(2.0, rel=0.03)
        assert found.low < found.speedup < found.high and found.pairs == 5
        assert found.least_lost_ratio < 0
        assert found.glue_ratio == pytest.approx(glue + 0.02, abs=0.01)


def test_a_saving_that_goes_is_seen():
    found = agreement(*sampled(np.random.default_rng(1), speedup=2.0, kept=False))
    assert found.speedup == pytest.approx(1.0, abs=0.05)
    assert found.lost_ratio == pytest.approx(0.5, abs=0.05)
    assert 0 < found.least_lost_ratio < found.lost_ratio


@pytest.mark.parametrize("shift", [0.6, -0.4])
def test_what_the_chain_changes_of_the_baseline_it_may_change_of_a_candidate(shift):
    random = np.random.default_rng(2)
    batched, chained = sampled(random, speedup=1.5, kept=False, shift=shift, spread=0.001)
    found = agreement(batched, chained)
    assert found.shift_ratio == pytest.approx(shift, abs=0.02)
    assert found.lost_ratio == pytest.approx(1 / 3, abs=0.02) and found.least_lost_ratio < 0


def test_what_cannot_be_is_written_as_the_largest_number():
    batched, chained = sampled(np.random.default_rng(3), speedup=50.0, glue=5.0, spread=0.2)
    assert agreement(batched, chained).high <= OPEN_SPEEDUP


def test_few_pairs_say_nothing():
    with pytest.raises(ValueError, match="at least five"):
        agreement(*sampled(np.random.default_rng(4), speedup=2.0, pairs=4))


def test_as_many_samples_must_agree_as_a_coin_would_hardly_show():
    found = {count: _misses(count, FALSE_ALARM_RATE) for count in (10, 12, 16, 20)}
    assert found == {10: 0, 12: 0, 16: 2, 20: 3}
    assert _misses(10, 0.025) == 1, "the interval of a median of ten leaves out one on either side"


def test_a_disturbed_round_spoils_one_sample_alone():
    batched, chained = sampled(np.random.default_rng(7), speedup=2.0, kept=False, pairs=8)
    slow = replace(chained[4], elapsed_ns=5 * chained[4].elapsed_ns)
    found = agreement(batched, [*chained[:4], slow, *chained[5:]])
    assert found.least_lost_ratio > 0.3 and found.speedup == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("kind", ["normal", "heavy", "spikes", "two humps"])
@pytest.mark.parametrize("spread", [0.01, 0.1])
def test_noise_alone_raises_no_alarm(kind, spread):
    random = np.random.default_rng(5)
    cases = [(1.05, 0.5, 0.0), (2.0, 0.5, 0.1), (1.5, 0.0, -0.1), (8.0, 2.0, 0.0)]
    alarms = sum(
        agreement(*sampled(random, speedup=speedup, glue=glue, shift=shift, kind=kind, spread=spread)).least_lost_ratio
        > 0
        for speedup, glue, shift in cases
        for _ in range(100)
    )
    assert alarms == 0


def test_a_lost_saving_is_seen_where_rounds_are_quiet():
    random = np.random.default_rng(6)
    found = [agreement(*sampled(random, speedup=1.2, kept=False)).least_lost_ratio > 0 for _ in range(40)]
    assert sum(found) >= 36
