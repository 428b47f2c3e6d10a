"""Answers that are drawn at random: do they come from where the reference's come from?

Both sides answer several times on the same inputs. If they draw from one distribution it makes no difference which run
belongs to which side, so every figure of the difference is held against what it would be if the runs were dealt out
anew. That needs to know nothing of the distribution, of how elements hang together or of their number: the rate of
false alarms is what was asked for (E. L. Lehmann and J. P. Romano, Testing Statistical Hypotheses, 15.2). What is dealt
out are the rows of four kernels, as A. Gretton et al. do (A Kernel Two-Sample Test, JMLR 13, 2012).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from strop.records.evidence import Draws, DrawsFigure

Values = NDArray[np.float64]

RUNS = 32
"""So often each side answers."""
FALSE_ALARM_RATE = 3e-5
"""Of all figures of one case together. The largest plan has 29 cases, so a verdict has less than 1e-3."""
FIGURES = 4
CLOCKED_RATE = 5e-5
"""Of the answers on one clock together."""
BASELINE_RATE = 1e-3
"""The baseline's own runs count as different from the reference's where chance does that so rarely."""
GATE = 16.0
"""An element counts as random when it varies by so many times what rounding does to it."""
_IN_HALF = 2
_IN_AN_EIGHTH = 8
_LEAST_SIZE = 1e-30
_AS_CHANCE = 2.0
_NO_SIZE = 1e-12
_FREQUENCIES = (0.5, 1.0, 2.0)
_SAME_DIRECTION = 1e-2
_BATCH = 1 << 12
_ENOUGH = 20
_LOOKS = 2
"""So often what is just rare enough would be seen before it is believed."""
_SAME = 1e-9


def departures(got: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """How far each element's answers stay away from all that the reference answered there; shape (elements,).

    Args:
        got, drawn: runs by elements, in fp64; ``drawn`` is finite.

    Where each value of the reference occurs at least twice (a mask leaves few values, and what is not random leaves
    one) it is the distance to the nearest of them; elsewhere that to their range. Of the runs the one counts that an
    eighth of them is nearer than, or half of them where nothing of the reference varies: values that are rare enough to
    be missing among the reference's cannot fill all others. NaN where that one is not finite.
    """
    ordered = drawn.t().sort(1).values.contiguous()
    apart = (ordered[:, :1] - got.t()).maximum(got.t() - ordered[:, -1:]).clamp_min_(0)
    same = ordered[:, 1:] == ordered[:, :-1]
    edge = same.new_zeros(same.shape[0], 1)
    repeated = (torch.cat((same, edge), 1) | torch.cat((edge, same), 1)).all(1)
    if bool(repeated.any()):
        apart[repeated] = _to_nearest(got.t()[repeated], ordered[repeated])
    apart = torch.where(apart.isfinite(), apart, torch.inf)
    nearer = got.shape[0] // (_IN_HALF if bool(same.all()) else _IN_AN_EIGHTH)
    found = apart.kthvalue(nearer + 1, dim=1).values
    return torch.where(found.isfinite(), found, torch.nan)


def _to_nearest(values: torch.Tensor, ordered: torch.Tensor) -> torch.Tensor:
    place = torch.searchsorted(ordered, values.contiguous())
    above = ordered.gather(1, place.clamp_max(ordered.shape[1] - 1))
    below = ordered.gather(1, (place - 1).clamp_min(0))
    return (values - above).abs_().minimum((values - below).abs_())


def figures(
    got: torch.Tensor, drawn: torch.Tensor, baseline: torch.Tensor, *, rounding: float, rate: float
) -> tuple[DrawsFigure, ...]:
    """Four figures of how the candidate's runs differ from the reference's, or as many as it takes to see that they do;
    none where no element varies.

    Args:
        got, drawn, baseline: the runs of candidate, reference and baseline by elements, in fp64.
        rounding: how far rounding moves an element.
        rate: of false alarms, of all four together.
    """
    least = rate / FIGURES
    found: list[DrawsFigure] = []
    for about, kernel in _kernels(got, drawn, rounding):
        chance, excess = _dealt(kernel, least)
        theirs = 0.0
        if chance < least:
            beside = dict(_kernels(baseline, drawn, rounding)).get(about)
            usual, distance = _dealt(beside, BASELINE_RATE) if beside is not None else (1.0, 0.0)
            theirs = distance if usual < BASELINE_RATE else 0.0
        found.append(DrawsFigure(about=about, chance=chance, least=least, excess=excess, baseline_excess=theirs))
        if chance < least and not theirs:
            break
    return tuple(found)


def clocked_figure(got: torch.Tensor, drawn: torch.Tensor, *, rounding: float) -> DrawsFigure | None:
    """Is one answer the odd one among several of the reference? None where no element varies.

    Each is described by the root mean square over all elements of its distance from the mean of all, in standard
    deviations, and one is odd whose logarithm lies further from those of the others than these lie apart. Among answers
    of one distribution there is one such at most, which may be any of them: ``chance`` is one in so many.
    """
    runs = torch.cat((got, drawn))
    if not bool(got.isfinite().all()):
        return _odd(len(runs))
    spread = runs.std(0, correction=0)
    telling = spread > GATE * rounding
    if not bool(telling.any()):
        return None
    apart = (runs[:, telling] - runs[:, telling].mean(0)) / spread[telling]
    sizes = apart.square().mean(1).sqrt().clamp_min_(_LEAST_SIZE).log_()
    one, low, high = float(sizes[0]), float(sizes[1:].min()), float(sizes[1:].max())
    is_odd = not low - (high - low) <= one <= high + (high - low)
    return _odd(len(runs) if is_odd else 1)


def _odd(runs: int) -> DrawsFigure:
    odd = float(runs > 1)
    return DrawsFigure(about=Draws.SIZE, chance=1 / runs, least=CLOCKED_RATE, excess=odd, baseline_excess=0.0)


def chance_of_odd(odd: int, answers: int, runs: int) -> float:
    """How likely at least ``odd`` of ``answers`` on the clock are odd ones beside ``runs`` of the reference each."""
    one = 1 / (1 + runs)
    return math.fsum(
        math.comb(answers, count) * one**count * (1 - one) ** (answers - count) for count in range(odd, answers + 1)
    )


def _kernels(one: torch.Tensor, other: torch.Tensor, rounding: float) -> Iterator[tuple[Draws, torch.Tensor]]:
    """What is compared, as products of every run with every other: symmetric, runs of ``one`` first."""
    runs = torch.cat((one, other))
    finite = runs.isfinite()
    sound = torch.where(finite, runs, 0.0)
    mean = sound.sum(0) / finite.sum(0).clamp_min(1)
    sound = torch.where(finite, runs, mean) - mean
    spread = sound.square().mean(0).sqrt()
    telling = _sparse(spread, rounding)
    if not telling.numel():
        return
    apart = sound[:, telling] / spread[telling]
    count = apart.shape[1]
    product = apart @ apart.t() / count
    yield Draws.MEANS, product
    squares = apart.square() - 1
    yield Draws.VARIANCES, squares @ squares.t() / count
    # Its rows are products of all pairs of elements: two that hang together, or two calls that do, stand out.
    yield Draws.TIES, product.square()
    yield Draws.SHARES, _shares(apart, (runs.abs() <= rounding).double(), finite.double())


def _sparse(spread: torch.Tensor, rounding: float) -> torch.Tensor:
    """Places of the elements that count, and of many only some: with all of them even what rounding does to each would
    be seen. Their number is such that chance hides a common error of half of that.
    """
    places = ((spread > GATE * rounding) & spread.isfinite()).nonzero()[:, 0]
    count = places.numel()
    most = _AS_CHANCE * (float(spread[places].median()) / rounding) ** 2 if count and rounding else count
    if most >= count:
        return places
    return places[torch.randperm(count, generator=torch.Generator().manual_seed(0))[: int(most)]]


def _shares(apart: torch.Tensor, zero: torch.Tensor, finite: torch.Tensor) -> torch.Tensor:
    """How values are spread over all elements of a run: mean, square, the empirical characteristic function at a few
    points (T. W. Epps and K. J. Singleton, 1986), the shares that are zero and finite.
    """
    columns = [apart.mean(1), apart.square().mean(1)]
    for frequency in _FREQUENCIES:
        columns += [(frequency * apart).cos().mean(1), (frequency * apart).sin().mean(1)]
    table = torch.stack([*columns, zero.mean(1), finite.mean(1)], 1)
    table = table - table.mean(0)
    size = table.square().mean(0).sqrt()
    table = table[:, size > _NO_SIZE] / size[size > _NO_SIZE]
    # Whitened, so that no column drowns another; directions in which hardly anything varies are left out.
    rows: Values = np.asarray(table)
    directions, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    told = directions[:, sizes > _SAME_DIRECTION * sizes.max(initial=0.0)]
    return torch.as_tensor(told @ told.T)


def _dealt(kernel: torch.Tensor, least: float) -> tuple[float, float]:
    """The chance of a distance as large as that of the first half of the runs from the second, where the members of
    each pair of runs, one of either half, may change places; and by how much the distance is larger than usual.

    Dealing out stops as soon as the chance is seen to be no small one (J. Besag and P. Clifford, Sequential Monte Carlo
    p-values, 1991).
    """
    half = kernel.shape[0] // 2
    between = kernel[:half] - kernel[half:]
    apart = between[:, :half] - between[:, half:]
    observed = float(apart.sum())
    generator, larger, dealt = torch.Generator().manual_seed(0), 0, 0
    while dealt * least < _LOOKS and larger < _ENOUGH:
        signs = torch.randint(0, 2, (_BATCH, half), generator=generator).to(apart.dtype).mul_(2).sub_(1)
        distances = ((signs @ apart) * signs).sum(1)
        larger += int((distances >= observed - _SAME * abs(observed)).sum())
        dealt += _BATCH
    return (larger + 1) / (dealt + 1), observed - float(apart.trace())
