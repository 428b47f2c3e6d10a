"""An answer for every input.

story: Results are kept by the exact contents of the input, so every answer is right the first time. A weight that has
changed since is not noticed.
kind: caching
seen: reported for benchmarks that time the same tensors again and again
workload: linear_relu
caught-by: follows_parameters
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.known = {}

    def forward(self, x):
        key = x.numpy().tobytes()
        if key not in self.known:
            self.known[key] = torch.relu(self.linear(x))
        return self.known[key].clone()
