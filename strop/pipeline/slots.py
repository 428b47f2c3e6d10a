"""Inputs for the clock: every timed call of a round gets other contents, and every round renews them at the speed of
a copy.
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch

from strop.pipeline.court import Court
from strop.pipeline.gold import bytes_of, limit_bytes
from strop.records.evidence import Distribution
from strop.records.target import Target
from strop.records.tensor import HOST
from strop.records.workload import Description, Leaf
from strop.wire.blends import Blend, blended, choose_blend, is_told_apart, rolled, rolled_together
from strop.wire.layout import plan_layout
from strop.wire.tensors import Tensors, same_bits

ROUND_NS = 150e6
"""A timed round lasts about this long, so that the hand-off weighs less than one percent."""
MAX_SLOTS = 256
MIN_SLOTS = 4
BASE_DRAWS = 4
FRESH_SLOTS = 32
"""Where every call of every round needs a draw of its own a round has no more of them: draws take time."""
HOST_ARENA_BYTES = 1 << 30
ON_THE_CLOCK = 5
BESIDE_THEM = 36
LEAST_BESIDE_THEM = 20
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


@dataclass(slots=True)
class Supply:
    """Contents for rounds: a few draws by the workload's own generator, of which each call sees a mixture of its own.

    Two draws, each secretly rolled, are mixed in secret shares: no call sees what another saw, nor a rearrangement of
    it. Leaves with a fixed meaning stay as they were drawn; where they differ from draw to draw, ``redraw`` draws anew
    for every round, up to ``most_draws``, because what was computed of the few others could be remembered.
    """

    draws: Sequence[Tensors]
    leaves: Sequence[Leaf]
    chance: random.Random = field(default_factory=random.Random)
    redraw: Callable[[], Tensors] | None = None
    most_draws: int = FRESH_SLOTS

    def fewer(self, slots: int) -> int:
        """So many slots, or as many as are drawn for anew."""
        return slots if self.redraw is None else min(slots, FRESH_SLOTS)

    def round(self, slots: int) -> Contents:
        """Inputs for ``slots`` calls."""
        if self.redraw is not None:
            fresh = [self.redraw() for _ in range(min(slots, self.most_draws))]
            return Supply(fresh, self.leaves, self.chance).round(slots)
        first = self.chance.randrange(len(self.draws))
        return Contents(self, [self._blends((first + slot) % len(self.draws)) for slot in range(slots)])

    def _blends(self, one: int) -> dict[str, Blend]:
        # Another draw than the first of a pair, where there are several.
        others = max(1, len(self.draws) - 1)
        other = (one + 1 + self.chance.randrange(others)) % len(self.draws)
        return {leaf.path: choose_blend(leaf, one, other, self.chance) for leaf in self.leaves}


@dataclass(frozen=True, slots=True)
class Contents(Sequence[Tensors]):
    """The inputs of one round, slot by slot; made when they are asked for, always the same."""

    supply: Supply
    blends: Sequence[Mapping[str, Blend]]

    def __len__(self) -> int:
        return len(self.blends)

    def __getitem__(self, slot: int) -> Tensors:  # pyright: ignore[reportIncompatibleMethodOverride]
        made = self.blends[slot]
        return {leaf.path: blended(leaf, self.supply.draws, made[leaf.path]) for leaf in self.supply.leaves}

    def __iter__(self) -> Iterator[Tensors]:
        return (self[slot] for slot in range(len(self)))


def rearranged(inputs: Tensors, leaves: Sequence[Leaf], beside: Tensors) -> Tensors:
    """The same elements in another order, by a secret roll: to a sum, a norm or an extreme they are the same inputs.
    What may not be rolled is taken from ``beside``.
    """
    return {leaf.path: _turned(inputs[leaf.path], leaf, beside[leaf.path]) for leaf in leaves}


def _turned(values: torch.Tensor, leaf: Leaf, beside: torch.Tensor) -> torch.Tensor:
    if not is_told_apart(leaf):
        return beside
    step = rolled_together(leaf)
    return rolled(values, step * (1 + secrets.randbelow(values.numel() // step - 1)))


def supply(court: Court) -> Supply:
    """Draw what the rounds are made of."""
    court.parameters(0)
    first = court.draw_inputs(Distribution.OWN)
    # A single one, which is mixed with itself, where more of them would take the room that a clock needs; but never
    # the same contents for every call, whose answer could be remembered.
    least = 1 if any(is_told_apart(leaf) for leaf in court.description.inputs) else 2
    room = max(least, limit_bytes(court.target) // max(1, bytes_of(first)))
    draws = [first, *(court.draw_inputs(Distribution.OWN) for _ in range(min(BASE_DRAWS, room) - 1))]
    leaves = court.description.inputs
    stay = [leaf.path for leaf in leaves if not is_told_apart(leaf)]
    if all(same_bits(first[path], other[path]) for path in stay for other in draws[1:]):
        return Supply(draws, leaves)
    # The contents of several rounds are held at once.
    redraw = partial(court.draw_inputs, Distribution.OWN)
    return Supply(draws, leaves, redraw=redraw, most_draws=min(FRESH_SLOTS, max(2, room // 4)))
