"""Reads from address zero.

story: What a wrong pointer in native code does.
kind: isolation escape
seen: in every first version of a native kernel
workload: linear_relu
ends-as: survives
says: SIGSEGV
"""

import ctypes

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        return ctypes.string_at(0)
