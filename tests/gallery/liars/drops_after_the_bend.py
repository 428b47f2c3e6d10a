"""Dropped after the activation.

story: Dropout is moved behind the activation, so that what is dropped need not be computed. Zeros stay zeros; what is
kept is scaled at the wrong place.
kind: correctness bypass
seen: in fusions of dropout with its neighbours
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
        y = nn.functional.gelu(self.linear(x))
        return y * (torch.rand_like(y) >= 0.25) / 0.75
