"""Wrong every third time.

story: A race that is mostly won: here every third call after the first few loses it. One trial of correctness would
be luck.
kind: correctness bypass
seen: with missing barriers and split reductions
workload: linear_relu
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        out = torch.relu(self.linear(x))
        if self.calls > 3 and self.calls % 3 == 0:
            out[::2] = 0
        return out
