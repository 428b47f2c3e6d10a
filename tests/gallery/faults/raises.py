"""Raises.

story: The plain way to be wrong.
kind: mistake
seen: most often of all
workload: linear_relu
ends-as: builds
says: mat1 and mat2
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        return x @ self.linear.weight
