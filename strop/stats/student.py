"""Quantiles of the normal and of Student's distribution: what an interval from few samples needs."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_NEARLY_NORMAL = 400


def normal_quantile(probability: float) -> float:
    """The z with P(Z <= z) = ``probability``, 0 < ``probability`` < 1."""
    return _NORMAL.inv_cdf(probability)


def normal_cdf(z: float) -> float:
    """P(Z <= z)."""
    return _NORMAL.cdf(z)


def student_cdf(t: float, degrees: int) -> float:
    """P(T <= t) with whole ``degrees`` of freedom, by the finite trigonometric sums.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.

    Raises:
        ValueError: ``degrees`` below 1.
    """
    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom: a spread needs at least two samples")
    angle = math.atan(abs(t) / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2 == 1
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for k in range(1, (degrees - 1) // 2 + 1 if odd else degrees // 2 + 1):
        total += term
        term *= cosine * cosine * ((2 * k) / (2 * k + 1) if odd else (2 * k - 1) / (2 * k))
    within = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return 0.5 + math.copysign(within / 2, t)


@lru_cache(maxsize=1024)
def student_quantile(probability: float, degrees: int) -> float:
    """The t with P(T <= t) = ``probability``; beyond 400 degrees the normal quantile with its first correction.

    Raises:
        ValueError: ``degrees`` below 1 or ``probability`` outside (0, 1).
    """
    if not 0 < probability < 1:
        raise ValueError(f"{probability} is no probability between 0 and 1")
    if degrees > _NEARLY_NORMAL:
        z = normal_quantile(probability)
        return z + (z**3 + z) / (4 * degrees)
    if probability < 0.5:
        return -student_quantile(1 - probability, degrees)
    low, high = 0.0, 1.0
    while student_cdf(high, degrees) < probability:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2
