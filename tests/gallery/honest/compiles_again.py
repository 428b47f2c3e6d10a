"""Compiles again.

story: What it runs is compiled for the sizes at hand, so the first call with others takes longer.
rejected-by: a limit on the time of one call
workload: any_batch
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, made):
        super().__init__()
        self.linear = nn.Linear(width, made)
        self.compiled = torch.compile(self.compute, backend="eager", dynamic=False)

    def compute(self, x):
        return torch.tanh(self.linear(x))

    def forward(self, x):
        return self.compiled(x)
