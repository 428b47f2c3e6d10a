"""Weights packed, and packed again when they change.

story: The packed copy is kept for as long as the weights compare equal to those it was made from.
rejected-by: any suspicion of caching
workload: linear_relu
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.seen = None
        self.packed = None

    def forward(self, x):
        weight = self.linear.weight
        if self.seen is None or not torch.equal(self.seen, weight):
            self.seen = weight.detach().clone()
            self.packed = self.seen.t().contiguous()
        return torch.relu(torch.addmm(self.linear.bias, x, self.packed))
