"""The bound that every value is held to, and the sentence that says how it was broken."""

from __future__ import annotations

from collections.abc import Iterable

from strop.checks._base import Rules
from strop.records.evidence import Distribution, Draws, ErrorQuantiles, LeafErrors, ValuesEvidence
from strop.records.verdict import Failed, Finding, Inconclusive, Passed, Skipped
from strop.stats.errors import NO_ERROR

STATE_PREFIX = "state:"
QUANTILE_NAMES = ("median", "99 % quantile", "99.9 % quantile", "maximum")

# Inputs that hold equal values on purpose: which of several equal elements an index names is then nobody's promise.
_WITH_TIES = frozenset(
    {
        Distribution.TIES,
        Distribution.CONSTANT_ROWS,
        Distribution.HALF_ZEROS,
        Distribution.SMALL_INTEGERS,
        Distribution.SPECIAL,
    }
)
# Where no operator of the workload chooses among equal elements, these promise nothing less than others do: a border
# itself belongs to one side. Rounding of equal terms and conversions of NaN are another matter.
_WITH_CHOICE = frozenset({Distribution.TIES, Distribution.HALF_ZEROS, Distribution.SMALL_INTEGERS})
# Where all terms of a sum are equal their rounding errors point the same way and grow with the number of terms, and not
# with its square root, as honest rounding is modelled for independent errors: a plain float32 sum of 784 equal terms
# errs ten times as far. Such inputs are there to show wrong axes and cancellation, which err by orders of magnitude.
_SYSTEMATIC_GROWTH = {Distribution.CONSTANT_ROWS: 8.0}
_DIFFERENCES = {
    Draws.MEANS: "elements have other means",
    Draws.VARIANCES: "elements have other variances",
    Draws.TIES: "elements, or calls, hang together in another way, as if they shared or repeated random numbers",
    Draws.SHARES: "values are spread in another way, or other shares of them are zero or not finite",
    Draws.SIZE: "single answers are larger or smaller than all of the reference's",
}
_HOW = {
    Distribution.OWN: "inputs of the workload's own generator",
    Distribution.NORMAL: "standard normal inputs",
    Distribution.UNIFORM: "inputs uniform in (0, 1)",
    Distribution.SCALED: "inputs scaled by a power of two",
    Distribution.NEGATED: "negated inputs",
    Distribution.OUTLIER_CHANNELS: "inputs with outlier channels",
    Distribution.LOG_NORMAL: "log-normal inputs",
    Distribution.HALF_ZEROS: "inputs half of which are zero",
    Distribution.CONSTANT_ROWS: "inputs with constant rows",
    Distribution.ROW_OFFSETS: "inputs with a large offset per row",
    Distribution.TIES: "inputs with ties",
    Distribution.BEYOND_CONSTANTS: "inputs beyond the workload's own constants",
    Distribution.SMALL_INTEGERS: "small whole numbers as inputs",
    Distribution.SPECIAL: "inputs with NaN, Inf, -0.0 or denormals",
}


def factor_for(distribution: Distribution, factor: float) -> float:
    """The factor that the bound uses for inputs of this kind, from the one in the rules."""
    return factor * _SYSTEMATIC_GROWTH.get(distribution, 1.0)


def allowed(leaf: LeafErrors, factor: float) -> tuple[float, float, float, float]:
    """What each quantile of the candidate's error may be.

    ``factor`` times the larger of the baseline's and the honest model's error, plus the smallest error that counts.
    """
    p50, p99, p999, largest = (
        factor * max(baseline, honest) + leaf.floor
        for baseline, honest in zip(leaf.baseline.as_tuple(), _honest(leaf).as_tuple(), strict=True)
    )
    return p50, p99, p999, largest


def breach(leaf: LeafErrors, factor: float, distribution: Distribution) -> str:
    """How a leaf breaks the bound, as a sentence; empty when it keeps it.

    Classes first (NaN, +Inf, -Inf, finite), then equality of integers and booleans, then the distribution of what is
    drawn at random, then the four quantiles. All are asserted positively, so a NaN among the figures is a breach.
    """
    worst = f" Worst at {leaf.worst}." if leaf.worst else ""
    factor = factor_for(distribution, factor)
    if not leaf.mask_mismatches <= leaf.baseline_mask_mismatches:
        return (
            f"{leaf.path}: {leaf.mask_mismatches} of {leaf.elements} elements are NaN or Inf where the reference is "
            f"not, or the other way round.{worst}"
        )
    equal = int(factor * max(leaf.baseline_exact_mismatches, leaf.honest_exact_mismatches))
    if leaf.strays:
        return f"{leaf.path}: {leaf.strays} of {leaf.elements} elements name a place that does not exist.{worst}"
    forgiven = distribution in _WITH_TIES and (leaf.chosen or distribution not in _WITH_CHOICE)
    if not (leaf.exact_mismatches <= equal or forgiven):
        return f"{leaf.path}: {leaf.exact_mismatches} of {leaf.elements} elements differ; {equal} may.{worst}"
    if sentence := _from_elsewhere(leaf, factor):
        return sentence
    limits = allowed(leaf, factor)
    errors = leaf.candidate.as_tuple()
    if all(error <= limit for error, limit in zip(errors, limits, strict=True)):
        return ""
    place = next(index for index in range(4) if not errors[index] <= limits[index])
    return _too_far(leaf, place, factor) + worst


def _from_elsewhere(leaf: LeafErrors, factor: float) -> str:
    """How a leaf that is drawn at random shows another distribution than the reference's; empty when it does not.

    What chance explains is no difference, and neither is what lies within ``factor`` times the baseline's own.
    """
    for figure in leaf.draws:
        # Of squared distances.
        if not (figure.chance >= figure.least or figure.excess <= factor**2 * figure.baseline_excess):
            return (
                f"{leaf.path} is drawn from another distribution: {_DIFFERENCES[figure.about]}. Chance makes such a "
                f"difference once in {1 / figure.chance:.1g} times; once in {1 / figure.least:.1g} would be forgiven."
            )
    return ""


def _too_far(leaf: LeafErrors, place: int, factor: float) -> str:
    def figure(of: ErrorQuantiles) -> float:
        return of.as_tuple()[place]

    return (
        f"{leaf.path}: the {QUANTILE_NAMES[place]} of the error against fp64 is {figure(leaf.candidate):.3g}; allowed "
        f"is {allowed(leaf, factor)[place]:.3g} ({factor:g} times the larger of {figure(leaf.baseline):.3g}, the "
        f"baseline's, and {figure(_honest(leaf)):.3g}, honest rounding's)."
    )


def _honest(leaf: LeafErrors) -> ErrorQuantiles:
    """What honest rounding explains; nothing where its model was not asked, because the baseline's error suffices."""
    return leaf.honest or NO_ERROR


def is_state(leaf: LeafErrors) -> bool:
    """True for state that the workload changes (buffers, mutated inputs), False for outputs."""
    return leaf.path.startswith(STATE_PREFIX)


def judge_leaves(
    check: str, evidence: ValuesEvidence, leaves: Iterable[LeafErrors], rules: Rules, *, when: str, advice: str
) -> Finding:
    """Hold leaves to the bound. ``when`` opens the sentence of a failure, ``advice`` closes it.

    Inconclusive without leaves: a run that compared nothing shows nothing.
    """
    judged = list(leaves)
    if not judged:
        return Inconclusive(check=check, because="No output was compared, so nothing was seen. Report this as a fault.")
    for leaf in judged:
        if sentence := breach(leaf, rules.error_factor, evidence.case.distribution):
            return Failed(check=check, because=f"{when}, {described(evidence)}: {sentence} {advice}".strip())
    return Passed(check=check, because=f"{_counted(len(judged))} within the bound")


def _counted(tensors: int) -> str:
    return "1 tensor" if tensors == 1 else f"{tensors} tensors"


def described(evidence: ValuesEvidence) -> str:
    """The case in words, without what must stay secret."""
    draw = evidence.case.parameters_draw
    return f"on {_HOW[evidence.case.distribution]}" + (f" and re-drawn parameters ({draw})" if draw else "")


def nothing_of_that(check: str, what: str) -> Skipped:
    """The finding of a check that has nothing to look at."""
    return Skipped(check=check, because=what)
