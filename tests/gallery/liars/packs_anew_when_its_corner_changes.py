"""Weights packed anew when their corners change.

story: Whether the weights are still those that were packed is told by two of their elements. A step of training changes
all of them, a repaired row does not.
kind: caching
seen: found by trying it on this referee, which always exchanged whole tensors
workload: linear_relu
caught-by: follows_parameters
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.packed = {}

    def forward(self, x):
        weight = self.linear.weight
        corners = float(weight[0, 0]), float(weight[-1, -1])
        if corners not in self.packed:
            self.packed = {corners: weight.detach().t().contiguous()}
        return torch.relu(torch.addmm(self.linear.bias, x, self.packed[corners]))
