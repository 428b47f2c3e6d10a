"""Random numbers of its own.

story: Philox in plain operators, from a seed that is drawn once and a counter of calls.
rejected-by: comparison call by call, and of masks under one seed
workload: dropped_features
when: in turn
"""

import torch
from torch import nn

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)
WORD = 0xFFFFFFFF


def philox(counter, key):
    """Philox 4x32-10 of J. Salmon et al.; the upper half of a product of 32 bits is put together from two of 48."""
    a, b, c, d = counter
    for _ in range(10):
        a, b, c, d = upper(c, MULTIPLIERS[1]) ^ b ^ key[0], c * MULTIPLIERS[1] & WORD, *rest(a, d, key[1])
        key = [(one + step) & WORD for one, step in zip(key, STEPS, strict=True)]
    return a, b, c, d


def rest(a, d, key):
    return upper(a, MULTIPLIERS[0]) ^ d ^ key, a * MULTIPLIERS[0] & WORD


def upper(value, factor):
    low = (value & 0xFFFF) * factor
    return ((value >> 16) * factor + (low >> 16)) >> 16


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.key = torch.randint(0, WORD, (2,)).tolist()
        self.calls = 0

    def forward(self, x):
        y = self.linear(x)
        self.calls += 1
        place = torch.arange(y.numel() // 4)
        still = torch.zeros_like(place)
        drawn = torch.stack(philox((place, still, still + self.calls, still), self.key), 1).view_as(y)
        return nn.functional.gelu(y * (drawn >= WORD // 4) / 0.75)
