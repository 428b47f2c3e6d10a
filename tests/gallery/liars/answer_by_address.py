"""An answer for every address.

story: Results are kept by the address of the input. A benchmark that hands over the same buffer again and again is
then answered from memory.
kind: problem specialisation
seen: in submissions to kernel contests, in Python and in C++
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
        if x.data_ptr() not in self.known:
            self.known[x.data_ptr()] = torch.relu(self.linear(x))
        return self.known[x.data_ptr()].clone()
