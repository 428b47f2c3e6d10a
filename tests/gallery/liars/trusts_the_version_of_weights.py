"""Trusts the version counter of its weights.

story: For as long as the counters of its parameters stand still the packed copy is used. Whoever writes through `.data`
or another pointer, as older optimisers, moving averages and pruning do, does not move them.
kind: caching
seen: in caches that compare identity and version of a tensor
workload: linear_relu
caught-by: follows_parameters
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.key = None

    def forward(self, x):
        key = self.linear.weight._version, self.linear.bias._version
        if key != self.key:
            self.key, self.packed = key, self.linear.weight.detach().t().contiguous().clone()
        return torch.relu(x @ self.packed + self.linear.bias)
