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
    """Contents for rounds: a few draws by the workload's own generator, of which each call sees a secretly rolled
    version.

    Rolling keeps every value (so the domain holds) and gives no two calls the same contents. Leaves with a fixed
    meaning and integers are taken from
    the draws as they are; a workload that has only such leaves sees its draws in turn.
    """

    draws: Sequence[Arrays]
    leaves: Sequence[Leaf]
    random: np.random.Generator = field(default_factory=np.random.default_rng)

    def round(self, slots: int) -> list[Arrays]:
        """Inputs for ``slots`` calls."""
        first = int(self.random.integers(len(self.draws)))
        bases = [self.draws[(first + slot) % len(self.draws)] for slot in range(slots)]
        columns = {leaf.path: self._renewed(leaf, [base[leaf.path] for base in bases]) for leaf in self.leaves}
        return [{path: column[slot] for path, column in columns.items()} for slot in range(slots)]

    def _renewed(self, leaf: Leaf, arrays: list[np.ndarray]) -> list[np.ndarray]:
        size = arrays[0].size
        free = leaf.tensor.dtype.is_floating and (leaf.domain is None or leaf.domain.kind in _ROLLABLE)
        if not free or size < 2:
            return arrays
        # No offset twice, as far as the tensor has that many.
        offsets = self.random.choice(size, len(arrays), replace=size < len(arrays))
        rolled = (np.roll(array.reshape(-1), offset) for array, offset in zip(arrays, offsets, strict=True))
        return [array.reshape(arrays[0].shape) for array in rolled]


_ROLLABLE = (DomainKind.REAL, DomainKind.FINITE, DomainKind.POSITIVE, DomainKind.PROBABILITY)


def supply(court: Court) -> Supply:
    """Draw what the rounds are made of."""
    court.parameters(0)
    draws = [court.draw_inputs(Distribution.OWN) for _ in range(BASE_DRAWS)]
    return Supply(draws, court.description.inputs)
