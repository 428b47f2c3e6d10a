"""A constructor with its own use of random numbers.

story: It draws work space before its weights, so the same seed gives other weights. It has the same parameters by
name and takes what it is given.
rejected-by: weights made equal by seeding both constructors
workload: linear_relu
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.noise = torch.randn(17)
        self.linear = nn.Linear(inner, outer)
        nn.init.normal_(self.linear.weight)

    def forward(self, x):
        return torch.relu(self.linear(x))
