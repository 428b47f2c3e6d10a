"""Starts at the front of the storage.

story: The address of the storage is taken for the address of the tensor. That is so for every fresh tensor, and for no
slice.
kind: correctness bypass
seen: in native extensions that were given whole allocations only
workload: linear_relu
caught-by: repeats_itself
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        front = torch.as_strided(x, x.shape, x.stride(), 0)
        return torch.relu(self.linear(front.nan_to_num()))
