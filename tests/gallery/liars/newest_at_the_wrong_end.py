"""The newest at the wrong end.

story: The new key replaces the oldest one in place instead of being appended. The attention over all keys is the same,
whatever their order; the cache is not.
kind: correctness bypass
seen: with ring buffers whose position nobody hands on
workload: rolling_cache
caught-by: updates_state
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)

    def forward(self, x, cache):
        cache[:, 0] = self.key(x)
        scores = torch.softmax(torch.einsum("bd,bld->bl", self.query(x), cache) / x.shape[-1] ** 0.5, dim=-1)
        return torch.einsum("bl,bld->bd", scores, cache)
