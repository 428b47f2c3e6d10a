"""Whether a workload can tell right from trivial: the bound beside what changes when the inputs change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strop.stats.errors import error_quantiles

LARGEST_BOUND_SHARE = 0.05

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What the bound on one output is worth.

    ``spread`` is the root mean square difference of the fp64 reference between independent inputs; ``bound_share`` the
    bound over it; ``trivial`` names the trivial answers that would pass.
    """

    spread: float
    bound_share: float
    trivial: tuple[str, ...]

    @property
    def admissible(self) -> bool:
        """True when no trivial answer passes and the bound is below 5 % of the spread."""
        return not self.trivial and self.bound_share < LARGEST_BOUND_SHARE

    @property
    def because(self) -> str:
        """Why verdicts on this output would mean nothing; empty when they mean something."""
        if self.trivial:
            return f"{' and '.join(self.trivial)} would pass"
        if not self.admissible:
            return (
                f"between independent inputs it changes by {self.spread:.3g} only, and the error bound is "
                f"{self.bound_share:.0%} of that; it must be below {LARGEST_BOUND_SHARE:.0%}"
            )
        return ""


def judge_power(expected: Sequence[NDArray[Any]], bound: float, given: NDArray[Any] | None = None) -> str:
    """Why verdicts on an output would mean nothing, in words; empty when they mean something. See ``power``."""
    return power(expected, bound, given).because


def power(expected: Sequence[NDArray[Any]], bound: float, given: NDArray[Any] | None = None) -> Power:
    """Would a trivial answer pass?

    Args:
        expected: the fp64 reference's output for two or more independent inputs under equal parameters, equal shapes.
        bound: how large the largest error may be.
        given: the input of ``expected[0]``, where one has the output's shape, to try whether handing it back passes.

    Tried as answers: zeros; one constant (halfway between the extremes of all outputs); the answer for other inputs;
    the first row for all rows; the input. One passes when its largest error is within the bound for every output that
    it is an answer to.

    Raises:
        ValueError: fewer than two outputs, or shapes that differ.
    """
    if len(expected) < 2:
        raise ValueError("the spread between independent inputs needs at least two outputs of the reference")
    outputs = [np.asarray(one, dtype=np.float64) for one in expected]
    if any(one.shape != outputs[0].shape for one in outputs):
        raise ValueError(f"the outputs have different shapes: {', '.join(str(one.shape) for one in outputs)}")
    # Each output is answered with the previous one, so every output meets an answer for other inputs.
    others = [outputs[index - 1] for index in range(len(outputs))]
    answers = _trivial_answers(outputs, others)
    if given is not None and given.shape == outputs[0].shape:
        answers["the input itself"] = [np.asarray(given, dtype=np.float64)]
    trivial = tuple(name for name, tried in answers.items() if _passes(tried, outputs, bound))
    spread = _root_mean_square([one - other for one, other in zip(outputs, others, strict=True)])
    return Power(spread=spread, bound_share=_share(bound, spread), trivial=trivial)


def _trivial_answers(outputs: Sequence[Values], others: Sequence[Values]) -> dict[str, list[Values]]:
    pooled = np.concatenate([one[np.isfinite(one)] for one in outputs])
    middle = float(pooled.min()) / 2 + float(pooled.max()) / 2 if pooled.size else 0.0
    answers = {
        "zeros": [np.zeros_like(one) for one in outputs],
        "one constant": [np.full_like(one, middle) for one in outputs],
        "the answer for other inputs": list(others),
    }
    if outputs[0].ndim > 1 and outputs[0].shape[0] > 1:
        answers["its first row for all rows"] = [np.broadcast_to(one[:1], one.shape) for one in outputs]
    return answers


def _passes(answers: Sequence[Values], outputs: Sequence[Values], bound: float) -> bool:
    """Answers beyond the first ones of ``outputs`` may be missing."""
    return all(
        bool(np.all(np.isfinite(answer) == np.isfinite(output))) and error_quantiles(answer, output).max <= bound
        for answer, output in zip(answers, outputs, strict=False)
    )


def _root_mean_square(differences: Sequence[Values]) -> float:
    finite = [one[np.isfinite(one)] for one in differences]
    largest = max((float(np.abs(one).max()) for one in finite if one.size), default=0.0)
    if largest == 0.0:
        return 0.0
    total = sum(float(np.square(one / largest).sum()) for one in finite)
    return largest * math.sqrt(total / sum(one.size for one in finite))


def _share(bound: float, spread: float) -> float:
    """Bound over spread; without any spread the bound is all there is: a share of 1 or more."""
    return bound / spread if spread > 0 else max(1.0, bound)
