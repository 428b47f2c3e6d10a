"""Prints without end.

story: A debug print in an inner loop, or an attempt to bury a log.
kind: isolation escape
seen: in generated code with prints left in
workload: linear_relu
ends-as: builds
says: printed
"""

import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        for _ in range(100_000):
            os.write(1, b"all is well, all is well, all is well\n" * 1000)
        return torch.relu(self.linear(x))
