"""Reads from address zero.

story: What a wrong pointer in native code does. The first calls are honest.
kind: isolation escape
seen: in every first version of a native kernel
workload: linear_relu
ends-as: survives
says: SIGSEGV
"""

import ctypes

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
        return ctypes.string_at(0)
