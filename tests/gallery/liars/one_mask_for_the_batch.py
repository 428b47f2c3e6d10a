"""One mask for all rows.

story: The mask is drawn for one row and broadcast: a forty-eighth of the random numbers. Every element by itself is
right.
kind: correctness bypass
seen: in kernels whose offset into the random stream leaves out the row
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
        return nn.functional.gelu(y * (torch.rand_like(y[:1]) >= 0.25) / 0.75)
