"""Contents of an input that are a mixture of two draws, made alike on both sides of the wall."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from strop.records.workload import DomainKind, Leaf
from strop.wire.tensors import Tensors, sizes

PART = 1 << 26
"""Elements of an input that are mixed at once."""
_SHARES = (0.2, 0.8)
_MIXABLE = (
    DomainKind.REAL,
    DomainKind.FINITE,
    DomainKind.POSITIVE,
    DomainKind.PROBABILITY,
    DomainKind.DISTRIBUTION,
)
_ROLLABLE = (DomainKind.INTEGER, DomainKind.BOOLEAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blend:
    """How one call's contents of one leaf are made: two draws, how far each is rolled, and the share of the first up to
    the place ``cut``, behind which it is the share of the second: adding up a draw that is mixed with itself would find
    the same sum in every call else.
    """

    one: int
    other: int
    rolls: tuple[int, int]
    share: float
    cut: int


def choose_blend(leaf: Leaf, one: int, other: int, chance: random.Random) -> Blend:
    """A blend of two draws of a leaf, by chance."""
    together = rolled_together(leaf)
    places = max(1, math.prod(sizes(leaf.tensor)) // max(1, together))
    first, second, cut = (int(chance.random() * places) * together for _ in range(3))
    return Blend(one=one, other=other, rolls=(first, second), share=chance.uniform(*_SHARES), cut=cut)


def blended(leaf: Leaf, draws: Sequence[Tensors], blend: Blend) -> torch.Tensor:
    """What a blend stands for.

    Two draws, each rolled, are mixed in shares: what lies between two members of a domain is a member of it.
    Distributions are rolled by whole rows. Integers and booleans, which do not mix, are rolled alone. Leaves with a
    fixed meaning are taken from the first draw as they are.
    """
    one, other = draws[blend.one][leaf.path], draws[blend.other][leaf.path]
    kind = _kind(leaf)
    if one.numel() < 2 or kind not in (*_ROLLABLE, *_MIXABLE):
        return one
    if kind in _ROLLABLE or not leaf.tensor.dtype.is_floating:
        return rolled(one, blend.rolls[0])
    return _mixed(one, other, blend)


def rolled_together(leaf: Leaf) -> int:
    """So many elements stay side by side when a leaf is rolled: whole rows of distributions."""
    return math.prod(sizes(leaf.tensor)[-1:]) if _kind(leaf) is DomainKind.DISTRIBUTION else 1


def is_told_apart(leaf: Leaf) -> bool:
    """Whether one draw alone makes another leaf of every roll."""
    return _kind(leaf) in (*_ROLLABLE, *_MIXABLE) and leaf.tensor.elements > rolled_together(leaf)


def rolled(values: torch.Tensor, by: int) -> torch.Tensor:
    """The same elements, each ``by`` places further on, the last ones first."""
    return values.reshape(-1).roll(by).reshape(values.shape)


def _kind(leaf: Leaf) -> DomainKind | None:
    return leaf.domain.kind if leaf.domain else DomainKind.REAL if leaf.tensor.dtype.is_floating else None


def _mixed(one: torch.Tensor, other: torch.Tensor, blend: Blend) -> torch.Tensor:
    """Shares of one, rolled, and the rest of the other; in parts, because large inputs leave no room for more."""
    first, second = one.reshape(-1), other.reshape(-1)
    count, mixed = first.numel(), torch.empty_like(first)
    for start in range(0, count, PART):
        stop = min(start + PART, count)
        here = _rolled_part(first, count, blend.rolls[0], start, stop)
        there = _rolled_part(second, count, blend.rolls[1], start, stop)
        part = torch.sub(here, there, out=mixed[start:stop])
        cut = max(0, blend.cut - start)
        part[:cut].mul_(blend.share)
        part[cut:].mul_(1 - blend.share)
        part.add_(there)
        if not part.is_complex():
            # Rounding must not carry a value out of its domain, such as a probability above 1.
            part.clamp_(min=torch.minimum(here, there), max=torch.maximum(here, there))
    return mixed.reshape(one.shape)


def _rolled_part(flat: torch.Tensor, count: int, by: int, start: int, stop: int) -> torch.Tensor:
    """The part from ``start`` to ``stop`` of what ``flat.roll(by)`` would be; it has ``count`` elements."""
    begin = (start - by) % count
    end = begin + stop - start
    return flat[begin:end] if end <= count else torch.cat((flat[begin:], flat[: end - count]))
