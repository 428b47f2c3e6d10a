"""Trusts a version counter.

story: For as long as the input's counter of changes stands still its contents are taken to be the same. Whoever
writes through another pointer, another process or a kernel does not move that counter.
kind: caching
seen: in caches that compare identity and version of a tensor
workload: linear_relu
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.known = {}

    def forward(self, x):
        key = (x.untyped_storage().data_ptr(), x._version)
        if key not in self.known:
            self.known[key] = torch.relu(self.linear(x))
        return self.known[key].clone()
