"""Fills the disk.

story: Answers, caches or logs are written to disk until there is no more room.
kind: isolation escape
seen: with build caches and with answers stored between runs
workload: linear_relu
ends-as: builds
says: quota
"""

import os
import tempfile

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        block = bytes(1 << 20)
        for _ in range(300):
            descriptor, _ = tempfile.mkstemp()
            for _ in range(4):
                os.write(descriptor, block)
            os.close(descriptor)
        return torch.relu(self.linear(x))
