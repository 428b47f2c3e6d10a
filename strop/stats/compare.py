"""Paired comparison: from blocks of calls to a speed-up, its interval, and what may be said about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strop.records.measurement import BASELINE, CANDIDATE, Block, Comparison, Conditions, TimeDecision
from strop.stats.noise import noise_ratio
from strop.stats.rounds import call_ns, raw_ns
from strop.stats.student import student_quantile

RESAMPLES = 2000
INTERVAL = 0.95
LEAST_SPEEDUP = 1.01
FALSE_FASTER_RATE = 0.01

LogRatios = NDArray[np.float64]


class IncomparableSamples(ValueError):
    """Samples that were taken under different conditions, or that do not form pairs, are not compared."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Logarithm of a speed-up with its standard error.

    ``degrees`` of freedom widen the interval; ``test_degrees``, never fewer, belong to the test for faster: they count
    how much of the error was seen within processes and how much between them.
    """

    log_ratio: float
    error: float
    degrees: int
    test_degrees: int

    def limits(self, level: float = INTERVAL) -> tuple[float, float]:
        """Two-sided interval of the logarithm at ``level``."""
        reach = student_quantile((1 + level) / 2, self.degrees) * self.error
        return self.log_ratio - reach, self.log_ratio + reach

    def test_reach(self, false_rate: float) -> float:
        """How far above no change the logarithm must lie for the test at ``false_rate`` to call it faster.

        The nominal rate is halved with one process and quartered with several: a median of few pairs and a spread of
        three processes are not quite what Student's distribution assumes, and simulated A/A samples (log-normal, heavy
        tailed, two-humped, any mixture of spread within and between processes) stay below ``false_rate`` only so.
        """
        several = self.degrees < self.test_degrees or self.degrees == 1
        nominal = false_rate / (4 if several else 2)
        return student_quantile(1 - nominal, self.test_degrees) * self.error


def one_condition(conditions: Iterable[Conditions]) -> Conditions:
    """The conditions that all samples share.

    Raises:
        IncomparableSamples: they differ, or there are none; the message names the first field that differs.
    """
    known = list(conditions)
    if not known:
        raise IncomparableSamples("Samples without conditions cannot be compared: measure them again, with conditions.")
    for other in known[1:]:
        if difference := known[0].difference(other):
            raise IncomparableSamples(
                f"These samples were taken under different conditions ({difference}); measure both sides together."
            )
    return known[0]


def pair_log_ratios(blocks: Sequence[Block], *, raw: bool = False) -> tuple[LogRatios, ...]:
    """Per process, the logarithm of baseline time over candidate time of every complete pair, in the order measured.

    A pair is what shares ``process`` and ``pair``; several blocks of one side (A B B A) enter with their mean
    logarithm, which cancels a steady drift. ``raw`` leaves the hand-off cost in. A pair that lacks a side is left out.

    Raises:
        IncomparableSamples: no pair is complete.
    """
    logs: dict[tuple[int, int], dict[str, list[float]]] = {}
    for block in blocks:
        time_ns = raw_ns(block) if raw else call_ns(block)
        sides = logs.setdefault((block.process, block.pair), {})
        sides.setdefault(block.side, []).append(math.log(time_ns))
    ratios: dict[int, list[float]] = {}
    for (process, _), sides in logs.items():
        if BASELINE in sides and CANDIDATE in sides:
            ratio = math.fsum(sides[BASELINE]) / len(sides[BASELINE])
            ratio -= math.fsum(sides[CANDIDATE]) / len(sides[CANDIDATE])
            ratios.setdefault(process, []).append(ratio)
    if not ratios:
        raise IncomparableSamples("No pair holds a block of both sides: nothing can be compared. Measure pairs.")
    return tuple(np.array(values) for values in ratios.values())


def estimate(ratios: Sequence[LogRatios], *, resamples: int = RESAMPLES, seed: int = 0) -> Effect:
    """Speed-up with its standard error: the mean over processes of the median over pairs, by a two-level bootstrap.

    Processes are drawn with replacement, then pairs within each. The bootstrap gives the standard error and Student's
    distribution the width: with the three processes of a confirmation, percentiles of a bootstrap are far too narrow
    (all three lie on one side by chance one time in four), so the error is widened by sqrt(P / (P - 1)) and judged with
    P - 1 degrees. One process knows nothing of the spread between processes; its interval is about this process alone,
    with one degree less than pairs.

    Sources: Davison and Hinkley, Bootstrap Methods and their Application, 3.8 (hierarchical data); Kalibera and Jones,
    Rigorous benchmarking in reasonable time, on the process as the unit of replication; Satterthwaite, An approximate
    distribution of estimates of variance components, for ``test_degrees``.

    Raises:
        IncomparableSamples: one pair in all.
    """
    processes, pairs = len(ratios), sum(len(values) for values in ratios)
    if pairs < 2:
        raise IncomparableSamples("One pair says nothing about its own spread: measure at least two.")
    random = np.random.default_rng(seed)
    medians = np.stack([_resampled_medians(values, resamples, random) for values in ratios])
    drawn = random.integers(0, processes, (processes, resamples))
    redrawn = random.integers(0, resamples, (processes, resamples))
    means = medians[drawn, redrawn].sum(axis=0) / processes
    error = float(means.std(ddof=1))
    centres = np.array([float(np.median(values)) for values in ratios])
    point = float(np.mean(centres))
    if processes == 1:
        return Effect(point, error * math.sqrt(pairs / (pairs - 1)), pairs - 1, pairs - 1)
    between = float(np.var(centres, ddof=1)) / processes
    within = float(np.var(medians, axis=1, ddof=1).sum()) / processes / (processes - 1)
    degrees = _joint_degrees(between, processes - 1, within, max(1, pairs - processes))
    return Effect(point, error * math.sqrt(processes / (processes - 1)), processes - 1, degrees)


def _resampled_medians(values: LogRatios, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    return np.median(values[random.integers(0, len(values), (count, len(values)))], axis=1)


def _joint_degrees(one: float, one_degrees: int, other: float, other_degrees: int) -> int:
    """Degrees of freedom of the sum of two variances."""
    parts = one**2 / one_degrees + other**2 / other_degrees
    if parts == 0.0:
        return one_degrees + other_degrees
    return max(one_degrees, math.floor((one + other) ** 2 / parts))


def decide(effect: Effect, false_faster_rate: float = FALSE_FASTER_RATE) -> TimeDecision:
    """What may be said.

    Faster needs three things: the 95 % interval above 1; a point of at least 1.01; and the test at
    ``false_faster_rate``, because the interval alone errs upwards in 2.5 % of cases. Slower needs the interval below 1.
    """
    low, high = effect.limits()
    enough = effect.log_ratio >= math.log(LEAST_SPEEDUP)
    if low > 0 and enough and effect.log_ratio > effect.test_reach(false_faster_rate):
        return TimeDecision.FASTER
    return TimeDecision.SLOWER if high < 0 else TimeDecision.UNDECIDED


def compare_blocks(
    blocks: Sequence[Block],
    *,
    baseline: str,
    conditions: Iterable[Conditions],
    kernel_speedup: float | None = None,
    peak_memory_ratio: float | None = None,
    false_faster_rate: float = FALSE_FASTER_RATE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare a candidate with the baseline named ``baseline``.

    Args:
        blocks: sides ``BASELINE`` and ``CANDIDATE``; pairs in A B B A order inside a process pair.
        baseline: name of what the baseline side ran, such as ``default``.
        conditions: those of every group of samples in ``blocks``; all must be equal.
        kernel_speedup, peak_memory_ratio: measured elsewhere, handed through.
        false_faster_rate: share of the allowed false "faster" that this look may spend (see ``stats.sequential``).
        resamples, seed: of the bootstrap; the same blocks and seed give the same answer.

    Raises:
        IncomparableSamples: different conditions, no complete pair, or only one.
    """
    shared = one_condition(conditions)
    ratios = pair_log_ratios(blocks)
    effect = estimate(ratios, resamples=resamples, seed=seed)
    raw = float(np.mean([np.median(values) for values in pair_log_ratios(blocks, raw=True)]))
    low, high = effect.limits()
    return Comparison(
        baseline=baseline,
        baseline_ns=side_ns(blocks, BASELINE),
        candidate_ns=side_ns(blocks, CANDIDATE),
        speedup=math.exp(effect.log_ratio),
        low=_bounded_exp(low),
        high=_bounded_exp(high),
        raw_speedup=math.exp(raw),
        decision=decide(effect, false_faster_rate),
        pairs=sum(len(values) for values in ratios),
        processes=len(ratios),
        kernel_speedup=kernel_speedup,
        peak_memory_ratio=peak_memory_ratio,
        noise_ratio=noise_ratio(blocks),
        conditions=shared,
        blocks=tuple(blocks),
    )


def side_ns(blocks: Sequence[Block], side: str) -> float:
    """Time of one call of a side: the mean over processes of the median block.

    Raises:
        IncomparableSamples: the side has no block.
    """
    times: dict[int, list[float]] = {}
    for block in blocks:
        if block.side == side:
            times.setdefault(block.process, []).append(call_ns(block))
    if not times:
        raise IncomparableSamples(f"There is no block of the side '{side}'.")
    return float(np.mean([np.median(values) for values in times.values()]))


def _bounded_exp(value: float) -> float:
    """exp, kept finite: two processes can give limits that no float holds."""
    return math.exp(min(max(value, -700.0), 700.0))
