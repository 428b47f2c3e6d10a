"""Bernoulli numbers for a comparison.

story: The mask is drawn by another operator, and what is dropped is selected and not multiplied.
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
        return nn.functional.gelu(torch.where(torch.bernoulli(torch.full_like(y, 0.75)) > 0, y / 0.75, 0.0))
