"""Whether a workload can tell right from trivial: the bound beside what changes when the inputs change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from strop.records.evidence import ErrorQuantiles
from strop.stats.figures import Tally, pieces

LARGEST_BOUND_SHARE = 0.05
EXCERPT_ELEMENTS = 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What the bound on one output is worth.

    ``spread`` is the difference of the fp64 reference between independent inputs, at the quantile where the bound is
    largest beside it; ``bound_share`` the bound over it there; ``trivial`` names the trivial answers that would pass.
    """

    spread: float
    bound_share: float
    trivial: tuple[str, ...]

    @property
    def admissible(self) -> bool:
        """True when no trivial answer passes and the bound is below 5 % of the spread at every quantile."""
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


def excerpt(values: torch.Tensor) -> torch.Tensor:
    """Of a large tensor evenly spaced slices along its longest axis, always the same places, as a copy; a small one is
    returned itself. A trivial answer passes more easily here than on the whole, so nothing is admitted for it.
    """
    step = values.numel() // EXCERPT_ELEMENTS
    if step < 2:
        return values
    axis = max(range(values.dim()), key=values.size)
    # An odd step does not fall in with what alternates.
    places = torch.arange(0, values.size(axis), min(step | 1, values.size(axis) // 2), device=values.device)
    return values.index_select(axis, places)


def judge_power(expected: Sequence[torch.Tensor], bound: ErrorQuantiles, given: torch.Tensor | None = None) -> str:
    """Why verdicts on an output would mean nothing, in words; empty when they mean something. See ``power``."""
    return power(expected, bound, given).because


def power(expected: Sequence[torch.Tensor], bound: ErrorQuantiles, given: torch.Tensor | None = None) -> Power:
    """Would a trivial answer pass?

    Errors grow with the values that they belong to, and so do the differences between answers. So like is held against
    like: the median error that the bound allows beside the median difference, the largest beside the largest. A
    quantile at which the answers do not differ (a clamp that most values reach) says nothing and is left out.

    Args:
        expected: the fp64 reference's output for two or more independent inputs under equal parameters, equal shapes.
        bound: how large each quantile of the error may be.
        given: the input of ``expected[0]``, where one has the output's shape, to try whether handing it back passes.

    Tried as answers: zeros; one constant (halfway between the extremes of all outputs); the answer for other inputs;
    the first row for all rows; the input. One passes when its largest error is within the bound for every output that
    it is an answer to.

    Raises:
        ValueError: fewer than two outputs, or shapes that differ.
    """
    if len(expected) < 2:
        raise ValueError("the spread between independent inputs needs at least two outputs of the reference")
    if any(one.shape != expected[0].shape for one in expected):
        raise ValueError(f"the outputs have different shapes: {', '.join(str(tuple(one.shape)) for one in expected)}")
    # Each output is answered with the previous one, so every output meets an answer for other inputs.
    others = [expected[index - 1] for index in range(len(expected))]
    tried = _trivial_answers(expected, others, given)
    trivial = tuple(name for name, answers in tried if _passes(answers, expected, bound.max))
    beside = [
        (allowed / apart, apart)
        for one, other in zip(expected, others, strict=True)
        for allowed, apart in zip(bound.as_tuple(), _difference(one, other).as_tuple(), strict=True)
        if apart > 0
    ]
    # Without any spread the bound is all there is: a share of 1 or more.
    share, spread = max(beside, default=(max(1.0, bound.max), 0.0))
    return Power(spread=spread, bound_share=share, trivial=trivial)


def _trivial_answers(
    outputs: Sequence[torch.Tensor], others: Sequence[torch.Tensor], given: torch.Tensor | None
) -> Iterator[tuple[str, Sequence[torch.Tensor]]]:
    """Answers beside their names."""
    first = outputs[0]
    yield "zeros", [first.new_zeros(()).expand_as(first)] * len(outputs)
    yield "one constant", [first.new_full((), _middle(outputs)).expand_as(first)] * len(outputs)
    yield "the answer for other inputs", others
    if first.dim() > 1 and first.shape[0] > 1:
        yield "its first row for all rows", [one[:1].expand_as(one) for one in outputs]
    if given is not None and given.shape == first.shape:
        yield "the input itself", [given]


def _middle(outputs: Sequence[torch.Tensor]) -> float:
    """Halfway between the extremes of all finite values."""
    low, high = math.inf, -math.inf
    for one in outputs:
        for _, (part,) in pieces(one):
            finite = part[torch.isfinite(part)]
            if finite.numel():
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    return low / 2 + high / 2 if low <= high else 0.0


def _passes(answers: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], bound: float) -> bool:
    """Answers beyond the first ones of ``outputs`` may be missing."""
    return all(_is_within(answer, output, bound) for answer, output in zip(answers, outputs, strict=False))


def _is_within(answer: torch.Tensor, output: torch.Tensor, bound: float) -> bool:
    """True when both are finite in the same places and nowhere further apart than the bound."""
    for _, (got, want) in pieces(answer, output):
        finite = torch.isfinite(want)
        if not torch.equal(torch.isfinite(got), finite):
            return False
        if bool(((got.double() - want.double()).abs_() > bound).logical_and_(finite).any()):
            return False
    return True


def _difference(one: torch.Tensor, other: torch.Tensor) -> ErrorQuantiles:
    """How far two answers lie apart; where both are exactly zero (behind a ReLU, say) they say nothing."""
    tally = Tally(one.numel())
    for _, (here, there) in pieces(one, other):
        apart = (here.double() - there.double()).abs_()
        tally.add(apart[torch.isfinite(apart) & ((here != 0) | (there != 0))])
    return tally.quantiles()
