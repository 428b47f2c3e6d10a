"""Never returns.

story: A loop that does not end; a deadlock looks the same from outside. The first calls are honest.
kind: isolation escape
seen: in kernels that spin on a flag nobody sets
workload: linear_relu
ends-as: survives
says: no answer
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls < 5:
            return torch.relu(self.linear(x))
        while True:
            pass
