"""`strop verify --explain`: the error of a candidate for each kind of inputs, beside the baseline's and honest
rounding's, and whether it looks like a lower precision than was promised. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from strop.checks._base import Rules
from strop.checks._bound import allowed, factor_for
from strop.errors import ChildFault, StropError
from strop.pipeline.blame import trusted
from strop.pipeline.cases import full_plan
from strop.pipeline.court import SLOTS, Court
from strop.pipeline.gold import Gold, within_memory
from strop.pipeline.judge import role_of
from strop.pipeline.layouts import made_leaves
from strop.pipeline.values import case_errors
from strop.pipeline.verify import answer
from strop.records.candidate import Candidate
from strop.records.contract import CONTRACTS
from strop.records.evidence import Distribution, ErrorQuantiles, LeafErrors, Stage
from strop.records.explanation import ErrorRow, Explanation
from strop.stats.downgrade import looks_like
from strop.stats.errors import NO_ERROR

LOWER = ("tf32", "fp16", "bf16")
PROBED = (Distribution.OWN, Distribution.NORMAL)
"""Of what these inputs lead to, lower precisions are modelled too."""


def explain(court: Court, candidate: Candidate, rules: Rules, say: Callable[[str], None]) -> Explanation:
    """Run every case of a full judgement off the clock; a candidate that ends before the last one leaves the rows it
    got to. The verdict stands whatever becomes of this: what ends it early is told, not raised.
    """
    if court.is_random:
        return Explanation(rows=(), looks_like=(), because="What is drawn at random has no error call by call.")
    plan = full_plan(court.description)
    cases = [case for case in (*plan.values, *plan.parameters) if case.distribution is not Distribution.SPECIAL]
    rows: list[ErrorRow] = []
    alike: list[tuple[str, ...]] = []
    probed: set[Distribution] = set()
    inexact = {leaf.path for leaf in made_leaves(court.description) if leaf.tensor.dtype.is_floating}
    try:
        with ExitStack() as stack, within_memory():
            child = court.loaded(stack, role_of(candidate), candidate.form)
            court.map(child, SLOTS)
            for number, case in enumerate(cases, 1):
                say(f"explaining: case {number} of {len(cases)}")
                gold = court.gold(case)
                with court.device():
                    evidence, _ = answer(court, child, gold, Stage.VALUES, None)
                    if case.distribution in PROBED and case.distribution not in probed:
                        probed.add(case.distribution)
                        alike += _alike(court, gold, [leaf for leaf in evidence.leaves if leaf.path in inexact])
                rows += [_row(leaf, gold, rules) for leaf in evidence.leaves if leaf.path in inexact]
    except ChildFault as fault:
        return Explanation(rows=tuple(rows), looks_like=_first(alike), because=fault.evidence.detail)
    except StropError as error:
        return Explanation(rows=tuple(rows), looks_like=_first(alike), because=str(error))
    return Explanation(rows=tuple(rows), looks_like=_first(alike))


def _first(names: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return next(filter(None, names), ())


def _row(leaf: LeafErrors, gold: Gold, rules: Rules) -> ErrorRow:
    case = gold.case
    p50, p99, p999, largest = allowed(leaf, factor_for(case.distribution, rules.error_factor))
    return ErrorRow(
        distribution=case.distribution,
        parameters_draw=case.parameters_draw,
        path=leaf.path,
        candidate=leaf.candidate,
        baseline=leaf.baseline,
        honest=leaf.honest or NO_ERROR,
        allowed=ErrorQuantiles(p50=p50, p99=p99, p999=p999, max=largest),
    )


def _alike(court: Court, gold: Gold, leaves: Sequence[LeafErrors]) -> list[tuple[str, ...]]:
    """What each output's errors look like."""
    lower: dict[str, dict[str, float]] = {}
    for name in LOWER:
        with trusted("The reference could not answer"):
            sample = court.perturb(gold.inputs, gold.case.parameters_draw, CONTRACTS[name])
        lower[name] = {each.path: each.candidate.p50 for each in case_errors(court.description, gold, sample)}
    return [
        looks_like(
            leaf.candidate.p50,
            leaf.baseline.p50,
            (leaf.honest or NO_ERROR).p50,
            {name: medians[leaf.path] for name, medians in lower.items()},
            leaf.floor,
        )
        for leaf in leaves
    ]
