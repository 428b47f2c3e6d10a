"""One random number for four neighbours.

story: A generator of this kind yields four numbers at a time; one of them decides on four neighbours. Every element
by itself is right.
kind: correctness bypass
seen: in vectorised kernels that use one lane of Philox
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
        kept = torch.rand(y.shape[0], y.shape[1] // 4) >= 0.25
        return nn.functional.gelu(y * kept.repeat_interleave(4, dim=1) / 0.75)
