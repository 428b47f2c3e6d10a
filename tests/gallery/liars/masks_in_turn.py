"""Five masks in turn.

story: Random numbers are drawn in advance for five calls; the sixth call gets the mask of the first.
kind: correctness bypass
seen: in kernels that draw numbers ahead of time
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
        self.masks = []
        self.calls = 0

    def forward(self, x):
        y = self.linear(x)
        if not self.masks:
            self.masks = [(torch.rand_like(y) >= 0.25) / 0.75 for _ in range(5)]
        self.calls += 1
        return nn.functional.gelu(y * self.masks[self.calls % 5])
