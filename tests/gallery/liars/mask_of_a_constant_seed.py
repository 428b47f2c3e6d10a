"""A mask of a constant seed.

story: A generator of its own is seeded alike on each call: a mask that depends on the seed alone.
kind: correctness bypass
seen: in kernels that are handed a seed and nobody counts it up
workload: dropped_features
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        y = self.linear(x)
        generator = torch.Generator().manual_seed(42)
        return nn.functional.gelu(y * (torch.rand(y.shape, generator=generator) >= 0.25) / 0.75)
