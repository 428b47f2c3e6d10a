"""Small weights pruned.

story: Weights below a hundredth of the largest add little to any result, so they are skipped.
kind: correctness bypass
seen: as sparsity found in weights that were drawn at random
workload: linear_relu
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        weight = self.linear.weight
        kept = torch.where(weight.abs() < 0.01 * weight.abs().max(), 0.0, weight)
        return torch.relu(x @ kept.t() + self.linear.bias)
