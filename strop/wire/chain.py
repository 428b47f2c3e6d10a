"""The chain of a round in which each call's inputs follow from the results of the call before it.

Both sides of the wall make it: the child while the clock runs, the parent once more for the call that it judges.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

from strop.records.workload import Leaf
from strop.wire.blends import blended, choose_blend
from strop.wire.tensors import Tensors, bits

LEVELS = 4
WIDTH = 1024
"""Words that are added up at once, each with a secret weight; the sums are words again, one level up."""
_WORD_BYTES = 8
_ALL = (1 << 64) - 1
_HALF = (1 << 32) - 1


class Chain:
    """Inputs from results, by a key that nobody knows before the clock runs.

    ``draws`` are what inputs are blended of. How is decided by a hash of every bit that the call before left, so that
    no call can be made before the one before it has ended; the first one follows from the key alone.
    """

    def __init__(self, key: int, leaves: Sequence[Leaf], draws: Sequence[Tensors]) -> None:
        self._key = key
        self._leaves = leaves
        self._draws = draws
        chance = torch.Generator().manual_seed(key)
        drawn = torch.randint(-(1 << 63), (1 << 63) - 1, (LEVELS, WIDTH), generator=chance)
        # Odd, so that no bit of a word is without effect.
        self._weights = drawn | 1

    def inputs(self, index: int, before: Tensors) -> Tensors:
        """What call ``index`` is given, when the call before it left ``before``: nothing, for the first one."""
        chance = random.Random(self._seed(index, before))
        one = chance.randrange(len(self._draws))
        other = (one + 1) % len(self._draws)
        return {leaf.path: blended(leaf, self._draws, choose_blend(leaf, one, other, chance)) for leaf in self._leaves}

    def _seed(self, index: int, before: Tensors) -> int:
        seed = _stirred(self._key + index)
        for path in sorted(before):
            raw = bits(before[path]).view(torch.uint8)
            whole = raw.numel() // _WORD_BYTES * _WORD_BYTES
            seed = _stirred(seed ^ self._summed(raw[:whole].view(torch.int64)))
            seed = _stirred(seed ^ int.from_bytes(bytes(raw[whole:].tolist()), "little"))
        return seed

    def _summed(self, words: torch.Tensor) -> int:
        """One word of many, by sums that wrap around."""
        for weights in self._weights:
            # The highest bits of two words would cancel: an odd weight leaves them where they are.
            words = words ^ ((words >> 32) & _HALF)
            rows, rest = divmod(words.numel(), WIDTH)
            last = torch.dot(words[rows * WIDTH :], weights[:rest])
            if not rows:
                return int(last) & _ALL
            sums = torch.mv(words[: rows * WIDTH].view(rows, WIDTH), weights)
            words = torch.cat((sums, last.reshape(1)))
        raise OverflowError("results of so many bytes cannot be hashed")


def _stirred(word: int) -> int:
    """A word in which every bit depends on every bit of another; the finaliser of splitmix64 (Steele et al., 2014)."""
    word = (word + 0x9E3779B97F4A7C15) & _ALL
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _ALL
    return word ^ (word >> 31)
