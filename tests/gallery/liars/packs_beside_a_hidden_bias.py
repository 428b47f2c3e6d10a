"""Weights packed once, beside a bias that is no parameter.

story: The bias is an attribute, so it keeps what the constructor drew and cannot be handed in. Who therefore draws
nothing again does not see that the weights, which can, were packed on the first call and never after.
kind: caching
seen: found by reading this referee, which redrew no parameter where one had no counterpart
workload: linear_relu
caught-by: follows_parameters
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        linear = nn.Linear(inner, outer)
        self.weight = linear.weight
        self.shift = linear.bias.detach().clone()
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = self.weight.detach().t().contiguous()
        return torch.relu(x @ self.packed + self.shift)
