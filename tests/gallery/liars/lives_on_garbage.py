"""Lives on garbage.

story: A work space that the right answer needs is held by a ring of objects that nobody refers to any more. It is
there until somebody collects garbage.
kind: correctness bypass
seen: by accident, with raw pointers to buffers whose owner is gone
workload: linear_relu
caught-by: repeats_itself
"""

import gc
import weakref

import torch
from torch import nn


class Ring:
    def __init__(self, tensor):
        self.tensor = tensor
        self.itself = self


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.calls = 0
        self.ones = None

    def forward(self, x):
        self.calls += 1
        out = torch.relu(self.linear(x))
        if self.calls == 3:
            gc.disable()
            self.ones = weakref.ref(Ring(torch.ones(out.shape[1])))
        if self.calls < 3:
            return out
        ring = self.ones()
        return out * ring.tensor if ring is not None else torch.zeros_like(out)
