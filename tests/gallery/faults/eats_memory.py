"""Eats memory.

story: Every intermediate is kept.
kind: isolation escape
seen: in unfused kernels, and to slow down whatever else runs
workload: linear_relu
ends-as: builds
says: memory
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        kept = []
        for _ in range(200):
            kept.append(torch.ones(4 << 20))
        return torch.relu(self.linear(x))
