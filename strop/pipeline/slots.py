"""Inputs for the clock: every timed call of a round gets other contents, and every round renews them at the speed of
a copy.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from strop.pipeline.court import Court
from strop.pipeline.gold import bytes_of, limit_bytes
from strop.records.evidence import Distribution
from strop.records.target import Target
from strop.records.tensor import HOST
from strop.records.workload import Description, DomainKind, Leaf
from strop.wire.layout import plan_layout
from strop.wire.tensors import Tensors

ROUND_NS = 150e6
"""A timed round lasts about this long, so that the hand-off weighs less than one percent."""
MAX_SLOTS = 256
MIN_SLOTS = 4
BASE_DRAWS = 4
HOST_ARENA_BYTES = 1 << 30
ON_THE_CLOCK = 5
BESIDE_THEM = 36
LEAST_BESIDE_THEM = 20
PART = 1 << 26
"""Elements of an input that are mixed at once."""
SHARE_OF_MEMORY = 0.65
"""So much of a device's memory is for a running clock: the slots of so many children (the null worker, the court's own
baseline, and two or three that take turns), and beside them the room of so many slots for the draws that contents are
made of, the reference's answer in double precision, the copies that are graded, what calls need for themselves, and
children that wait for their turn, of which there are none where room is scarce. The rest is for what two courts
remember.
"""


def slots_for(description: Description, target: Target, call_ns: float) -> int:
    """Calls per round = slots: enough to fill the round and to leave the last-level cache, as far as memory allows."""
    by_time = math.ceil(ROUND_NS / max(call_ns, 1.0))
    by_cache = math.ceil(2 * target.last_level_cache_bytes / _slot_bytes(description))
    return min(max(by_time, min(by_cache, by_time * 4), MIN_SLOTS), most_slots(description, target))


def most_slots(description: Description, target: Target) -> int:
    """So many slots one child may have at most. Two, so that contents change from call to call, wherever that leaves
    any room for the others.
    """
    slot_bytes = _slot_bytes(description)
    if target.device == HOST:
        room = HOST_ARENA_BYTES // slot_bytes
        return min(MAX_SLOTS, max(2 if slot_bytes <= 2 * HOST_ARENA_BYTES else 1, room))
    room = int((SHARE_OF_MEMORY * target.memory_bytes / slot_bytes - BESIDE_THEM) / ON_THE_CLOCK)
    fit = (2 * ON_THE_CLOCK + LEAST_BESIDE_THEM) * slot_bytes <= target.memory_bytes
    return min(MAX_SLOTS, max(2 if fit else 1, room))


def _slot_bytes(description: Description) -> int:
    return max(1, plan_layout((), (*description.inputs, *description.outputs), 1).slot_bytes)


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


@dataclass(slots=True)
class Supply:
    """Contents for rounds: a few draws by the workload's own generator, of which each call sees a mixture of its own.

    Two draws, each secretly rolled, are mixed in secret shares: no call sees what another saw, nor a rearrangement of
    it, and what lies between two members of a domain is a member of it. Distributions are rolled by whole rows.
    Integers and booleans, which do not mix, are rolled alone. Leaves with a fixed meaning are taken from the draws as
    they are; a workload that has only such leaves sees its draws in turn.
    """

    draws: Sequence[Tensors]
    leaves: Sequence[Leaf]
    random: np.random.Generator = field(default_factory=np.random.default_rng)

    def round(self, slots: int) -> Contents:
        """Inputs for ``slots`` calls."""
        first = int(self.random.integers(len(self.draws)))
        return Contents(self, [self._blends((first + slot) % len(self.draws)) for slot in range(slots)])

    def _blends(self, one: int) -> dict[str, Blend]:
        # Another draw than the first of a pair, where there are several.
        others = max(1, len(self.draws) - 1)
        other = (one + 1 + int(self.random.integers(others))) % len(self.draws)
        return {leaf.path: self._blend(leaf, one, other) for leaf in self.leaves}

    def _blend(self, leaf: Leaf, one: int, other: int) -> Blend:
        together = _rolled_together(leaf)
        places = max(1, self.draws[one][leaf.path].numel() // max(1, together))
        first, second, cut = (int(place) * together for place in self.random.integers(places, size=3))
        share = float(self.random.uniform(*_SHARES))
        return Blend(one=one, other=other, rolls=(first, second), share=share, cut=cut)

    def made(self, leaf: Leaf, blend: Blend) -> torch.Tensor:
        """What a blend stands for."""
        one, other = (self.draws[number][leaf.path] for number in (blend.one, blend.other))
        kind = _kind(leaf)
        if one.numel() < 2 or kind not in (*_ROLLABLE, *_MIXABLE):
            return one
        if kind in _ROLLABLE or not leaf.tensor.dtype.is_floating:
            return _rolled(one, blend.rolls[0])
        return _mixed(one, other, blend)


@dataclass(frozen=True, slots=True)
class Contents(Sequence[Tensors]):
    """The inputs of one round, slot by slot; made when they are asked for, always the same."""

    supply: Supply
    blends: Sequence[Mapping[str, Blend]]

    def __len__(self) -> int:
        return len(self.blends)

    def __getitem__(self, slot: int) -> Tensors:  # pyright: ignore[reportIncompatibleMethodOverride]
        return {leaf.path: self.supply.made(leaf, self.blends[slot][leaf.path]) for leaf in self.supply.leaves}

    def __iter__(self) -> Iterator[Tensors]:
        return (self[slot] for slot in range(len(self)))


def rearranged(inputs: Tensors, leaves: Sequence[Leaf], beside: Tensors) -> Tensors:
    """The same elements in another order, by a secret roll: to a sum, a norm or an extreme they are the same inputs.
    What may not be rolled is taken from ``beside``.
    """
    return {leaf.path: _turned(inputs[leaf.path], leaf, beside[leaf.path]) for leaf in leaves}


def _turned(values: torch.Tensor, leaf: Leaf, beside: torch.Tensor) -> torch.Tensor:
    if not _is_told_apart(leaf):
        return beside
    step = _rolled_together(leaf)
    return _rolled(values, step * (1 + secrets.randbelow(values.numel() // step - 1)))


def _kind(leaf: Leaf) -> DomainKind | None:
    return leaf.domain.kind if leaf.domain else DomainKind.REAL if leaf.tensor.dtype.is_floating else None


def _rolled_together(leaf: Leaf) -> int:
    """So many elements stay side by side when a leaf is rolled: whole rows of distributions."""
    if _kind(leaf) is not DomainKind.DISTRIBUTION:
        return 1
    return replace(leaf.tensor, shape=leaf.tensor.shape[-1:]).elements


def _is_told_apart(leaf: Leaf) -> bool:
    """Whether one draw alone makes another leaf of every roll."""
    return _kind(leaf) in (*_ROLLABLE, *_MIXABLE) and leaf.tensor.elements > _rolled_together(leaf)


def _rolled(values: torch.Tensor, by: int) -> torch.Tensor:
    return values.reshape(-1).roll(by).reshape(values.shape)


def _mixed(one: torch.Tensor, other: torch.Tensor, blend: Blend) -> torch.Tensor:
    """Shares of one, rolled, and the rest of the other; in parts, because large inputs leave no room for more."""
    first, second = one.reshape(-1), other.reshape(-1)
    mixed = torch.empty_like(first)
    for start, stop in itertools.pairwise(sorted({*range(0, len(mixed), PART), blend.cut, len(mixed)})):
        here = _rolled_part(first, blend.rolls[0], start, stop)
        there = _rolled_part(second, blend.rolls[1], start, stop)
        share = blend.share if start < blend.cut else 1 - blend.share
        part = torch.sub(here, there, out=mixed[start:stop]).mul_(share).add_(there)
        if not part.is_complex():
            # Rounding must not carry a value out of its domain, such as a probability above 1.
            part.clamp_(min=torch.minimum(here, there)).clamp_(max=torch.maximum(here, there))
    return mixed.reshape(one.shape)


def _rolled_part(flat: torch.Tensor, by: int, start: int, stop: int) -> torch.Tensor:
    """The part from ``start`` to ``stop`` of what ``flat.roll(by)`` would be."""
    begin, count = (start - by) % len(flat), stop - start
    whole = flat[begin : begin + count]
    return whole if len(whole) == count else torch.cat((whole, flat[: count - len(whole)]))


_SHARES = (0.2, 0.8)
_MIXABLE = (
    DomainKind.REAL,
    DomainKind.FINITE,
    DomainKind.POSITIVE,
    DomainKind.PROBABILITY,
    DomainKind.DISTRIBUTION,
)
_ROLLABLE = (DomainKind.INTEGER, DomainKind.BOOLEAN)


def supply(court: Court) -> Supply:
    """Draw what the rounds are made of."""
    court.parameters(0)
    first = court.draw_inputs(Distribution.OWN)
    # A single one, which is mixed with itself, where more of them would take the room that a clock needs; but never
    # the same contents for every call, whose answer could be remembered.
    least = 1 if any(_is_told_apart(leaf) for leaf in court.description.inputs) else 2
    count = min(BASE_DRAWS, max(least, limit_bytes(court.target) // max(1, bytes_of(first))))
    draws = [first, *(court.draw_inputs(Distribution.OWN) for _ in range(count - 1))]
    return Supply(draws, court.description.inputs)
