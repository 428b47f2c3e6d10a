"""Workloads that draw random numbers: several runs of each side are held against one another, at secret places of each
result, by the distribution that they come from (`stats.draws`).

`Golds` has the reference and the baseline answer `RUNS` times to each case and keeps that as the `Runs` of its `Gold`;
the candidate answers as often in `verify.answer`, and what comes out are `LeafErrors` like everybody's: distances from
all that the reference drew, and beside them the `DrawsFigure`s, so that the same checks judge them by `checks._bound`.
Of the clock's calls each has inputs of its own, so there one answer is held against a few of the reference, and all of
them decide together.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch

from strop.pipeline.gold import Gold, Places, Runs, TrustedSide
from strop.pipeline.layouts import made_leaves
from strop.records.evidence import DrawsFigure, LeafErrors, ValuesEvidence
from strop.records.workload import Leaf
from strop.stats.draws import FALSE_ALARM_RATE, chance_of_odd, clocked_figure, departures, figures
from strop.stats.errors import covered
from strop.stats.figures import HonestErrors, beside, error_quantiles, honest_errors, leaf_errors, smallest_error
from strop.wire.tensors import Tensors, real, sizes, torch_dtype

CLOCKED_RUNS = 16
"""So often the reference answers to the inputs of one call on the clock."""
MOST_ELEMENTS = 1 << 16
"""Of each result so many are looked at."""


def runs_of(side: TrustedSide, gold: Gold, count: int, baseline: Sequence[Tensors] = ()) -> Runs:
    """``count`` answers of the reference to a gold's inputs, with secret seeds, and as many of the baseline unless they
    are there.
    """
    inputs, draw = gold.inputs, gold.case.parameters_draw
    leaves = made_leaves(side.description)
    places = {leaf.path: _places(sizes(leaf.tensor)) for leaf in leaves}
    answers = (side.expect(inputs, draw, secrets.randbits(31)) for _ in range(count))
    expected = collected(leaves, places, answers)
    theirs = baseline or (side.answer_of_baseline(inputs, draw) for _ in range(count))
    moved = side.perturb(inputs, draw)
    return Runs(
        places=places,
        expected=expected,
        baseline=collected(leaves, places, theirs),
        rounding={leaf.path: _rounding(leaf, moved, gold.expected) for leaf in leaves},
    )


def collected(leaves: Iterable[Leaf], places: Mapping[str, Places], answers: Iterable[Tensors]) -> Tensors:
    """Runs by elements, of each leaf at its places: in fp64 on the host, rounded to the leaf's own type before."""
    looked_at = [{leaf.path: _looked_at(leaf, places[leaf.path], each) for leaf in leaves} for each in answers]
    return {leaf.path: torch.stack([each[leaf.path] for each in looked_at]) for leaf in leaves}


def draws_errors(
    side: TrustedSide, gold: Gold, runs: Runs, got: Tensors, factor: float | None, honest: Iterable[Tensors]
) -> tuple[LeafErrors, ...]:
    """Figures of all results and touched state, leaf by leaf, from the candidate's runs as ``collected``.

    As elsewhere, samples of ``honest`` rounding are taken only where the baseline's error times ``factor`` does not
    cover the candidate's, or where there is no factor.
    """
    leaves = made_leaves(side.description)
    random = [leaf for leaf in leaves if _varies(runs.expected[leaf.path])]
    rate = FALSE_ALARM_RATE / max(1, len(random))
    errors = [_errors(leaf, runs, got[leaf.path], rate) for leaf in leaves]
    if factor is not None and all(covered(each, factor) for each in errors):
        return tuple(errors)
    rows = [[_honest(leaf, runs, sample, gold) for leaf in leaves] for sample in honest]
    return tuple(beside(one, [row[index] for row in rows]) for index, one in enumerate(errors))


def together(graded: Sequence[ValuesEvidence]) -> tuple[ValuesEvidence, ...]:
    """Random answers of one clock, each with what all of them say: one odd answer is nobody's fault, several are."""
    found: dict[str, list[LeafErrors]] = {}
    for leaf in (leaf for one in graded for leaf in one.leaves):
        found.setdefault(leaf.path, []).append(leaf)
    return tuple(replace(one, leaves=tuple(_beside(leaf, found[leaf.path]) for leaf in one.leaves)) for one in graded)


def _beside(leaf: LeafErrors, answers: Sequence[LeafErrors]) -> LeafErrors:
    odd = sum(int(figure.excess) for each in answers for figure in each.draws)
    chance = chance_of_odd(odd, len(answers), CLOCKED_RUNS)
    return replace(leaf, draws=tuple(replace(each, chance=chance, excess=float(odd)) for each in leaf.draws))


def _places(shape: Sequence[int]) -> Places:
    """Secret places along each axis (None: all). Whole rows and columns of them, so that what they share shows; the
    longest axes give way first.
    """
    kept = list(shape)
    while math.prod(kept) > MOST_ELEMENTS:
        longest = kept.index(max(kept))
        kept[longest] = (kept[longest] + 1) // 2
    chance = secrets.SystemRandom()
    return tuple(
        None if few == all_ else torch.tensor(sorted(chance.sample(range(all_), few)))
        for few, all_ in zip(kept, shape, strict=True)
    )


def _excerpt(values: torch.Tensor, places: Places) -> torch.Tensor:
    for axis, chosen in enumerate(places):
        if chosen is not None:
            values = values.index_select(axis, chosen.to(values.device))
    return values


def _looked_at(leaf: Leaf, places: Places, answer: Tensors) -> torch.Tensor:
    values = _excerpt(answer[leaf.path], places).to(torch_dtype(leaf.tensor.dtype))
    # Poison is neither true nor false.
    values = values.view(torch.uint8) if values.dtype is torch.bool else real(values)
    return values.to("cpu", torch.float64).reshape(-1)


def _varies(runs: torch.Tensor) -> bool:
    return bool((runs != runs[0]).any())


def _rounding(leaf: Leaf, moved: Tensors, exact: Tensors) -> float:
    """How far rounding moves nearly all elements; nothing for whole numbers."""
    if not leaf.tensor.dtype.is_floating:
        return 0.0
    one, other = real(moved[leaf.path]), real(exact[leaf.path])
    return max(error_quantiles(one, other).p999, smallest_error(other, leaf.tensor.dtype))


def _errors(leaf: Leaf, runs: Runs, got: torch.Tensor, rate: float) -> LeafErrors:
    drawn, baseline, rounding = runs.expected[leaf.path], runs.baseline[leaf.path], runs.rounding[leaf.path]
    on_the_clock = len(got) == 1
    exact, found = drawn[0], tuple[DrawsFigure, ...]()
    mine, theirs = exact + departures(got, drawn), exact + departures(baseline, drawn)
    if on_the_clock and (odd := clocked_figure(got, drawn, rounding=rounding)):
        # A single answer may honestly be what a few of the reference's were not.
        found, mine, theirs = (odd,), exact, exact
    elif not on_the_clock and _varies(drawn):
        found = figures(got, drawn, baseline, rounding=rounding, rate=rate)
    errors = leaf_errors(leaf.path, leaf.tensor.dtype, candidate=mine, baseline=theirs, expected=exact)
    return replace(errors, worst="", draws=found)


def _honest(leaf: Leaf, runs: Runs, sample: Tensors, gold: Gold) -> HonestErrors:
    one, exact = (_looked_at(leaf, runs.places[leaf.path], each) for each in (sample, gold.expected))
    return honest_errors(leaf.tensor.dtype, sample=one, candidate=exact, baseline=exact, expected=exact)
