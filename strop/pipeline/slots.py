"""Inputs for the clock: every timed call of a round gets other contents, and every round renews them at the speed of
a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from strop.pipeline.court import Arrays, Court
from strop.records.evidence import Distribution
from strop.records.target import Target
from strop.records.tensor import DType
from strop.records.workload import Description, DomainKind, Leaf
from strop.wire.layout import plan_layout

ROUND_NS = 150e6
"""A timed round lasts about this long, so that the hand-off weighs less than one percent."""
MAX_SLOTS = 256
MIN_SLOTS = 4
BASE_DRAWS = 4
ARENA_BYTES = 1 << 30


def slots_for(description: Description, target: Target, call_ns: float) -> int:
    """Calls per round = slots: enough to fill the round and to leave the last-level cache, as far as memory allows."""
    slot_bytes = plan_layout((), (*description.inputs, *description.outputs), 1).slot_bytes
    by_time = int(np.ceil(ROUND_NS / max(call_ns, 1.0)))
    by_cache = int(np.ceil(2 * target.last_level_cache_bytes / max(slot_bytes, 1)))
    by_memory = max(2, ARENA_BYTES // max(slot_bytes, 1))
    return int(min(max(by_time, min(by_cache, by_time * 4), MIN_SLOTS), MAX_SLOTS, by_memory))


@dataclass(slots=True)
class Supply:
    """Contents for rounds: a few draws by the workload's own generator, of which each call sees a mixture of its own.

    Two draws, each secretly rolled, are mixed in secret shares: no call sees what another saw, nor a rearrangement of
    it, and what lies between two members of a domain is a member of it. Integers, booleans and bfloat16, which do not
    mix, are rolled alone. Leaves with a fixed meaning are taken from the draws as they are; a workload that has only
    such leaves sees its draws in turn.
    """

    draws: Sequence[Arrays]
    leaves: Sequence[Leaf]
    random: np.random.Generator = field(default_factory=np.random.default_rng)

    def round(self, slots: int) -> list[Arrays]:
        """Inputs for ``slots`` calls."""
        count = len(self.draws)
        first = int(self.random.integers(count))
        numbers = [(first + slot) % count for slot in range(slots)]
        # Another draw than the first of a pair, where there are several.
        others = [(number + 1 + int(self.random.integers(max(1, count - 1)))) % count for number in numbers]
        columns = {leaf.path: self._renewed(leaf, numbers, others) for leaf in self.leaves}
        return [{path: column[slot] for path, column in columns.items()} for slot in range(slots)]

    def _renewed(self, leaf: Leaf, numbers: Sequence[int], others: Sequence[int]) -> list[np.ndarray]:
        kind = leaf.domain.kind if leaf.domain else DomainKind.REAL if leaf.tensor.dtype.is_floating else None
        ones = [self.draws[number][leaf.path] for number in numbers]
        if ones[0].size < 2 or kind not in (*_ROLLABLE, *_MIXABLE):
            return ones
        if kind in _ROLLABLE or leaf.tensor.dtype is DType.BFLOAT16:
            return [self._rolled(one) for one in ones]
        partners = [self.draws[number][leaf.path] for number in others]
        if kind is not DomainKind.DISTRIBUTION:
            ones, partners = [self._rolled(one) for one in ones], [self._rolled(other) for other in partners]
        return [self._mixed(one, other) for one, other in zip(ones, partners, strict=True)]

    def _rolled(self, array: np.ndarray) -> np.ndarray:
        return np.roll(array.reshape(-1), self.random.integers(array.size)).reshape(array.shape)

    def _mixed(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        share = one.dtype.type(self.random.uniform(*_SHARES))
        mixed = one * share + other * (one.dtype.type(1) - share)
        if mixed.dtype.kind == "c":
            return mixed
        # Rounding must not carry a value out of its domain, such as a probability above 1.
        return np.clip(mixed, np.minimum(one, other), np.maximum(one, other))


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
    draws = [court.draw_inputs(Distribution.OWN) for _ in range(BASE_DRAWS)]
    return Supply(draws, court.description.inputs)
