"""Dropped and not scaled.

story: What is kept should grow by 1 / (1 - p). Left out, every mean is a quarter too small.
kind: correctness bypass
seen: in dropout by hand
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
        return nn.functional.gelu(y * (torch.rand_like(y) >= 0.25))
