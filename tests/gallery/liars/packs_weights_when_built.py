"""Weights packed by the constructor.

story: The constructor copies the weights into its own layout. It is right for as long as nobody loads other weights.
kind: correctness bypass
seen: in generated kernels that were only ever checked with the weights of one seed
workload: linear_relu
caught-by: follows_parameters
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.packed = self.linear.weight.detach().t().clone()
        self.shift = self.linear.bias.detach().clone()

    def forward(self, x):
        return torch.relu(torch.addmm(self.shift, x, self.packed))
