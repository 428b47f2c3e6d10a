"""Random bytes for random numbers.

story: A quarter of 256 is a whole number, so one byte an element is enough for this probability.
rejected-by: comparison call by call, and of masks under one seed
workload: dropped_features
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        y = self.linear(x)
        drawn = torch.randint(0, 256, y.shape, dtype=torch.uint8)
        return nn.functional.gelu(y * (drawn >= 64) * (1 / 0.75))
