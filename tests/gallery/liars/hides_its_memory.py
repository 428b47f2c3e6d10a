"""Hides its memory.

story: Every call hands back the same buffer, in a subclass that says its storage begins somewhere else.
kind: correctness bypass
seen: in attacks on harnesses that ask live objects
workload: relu
caught-by: aliases_nothing
"""

import torch
from torch import nn


class Elsewhere(torch.Tensor):
    def untyped_storage(self):
        return torch.empty(self.numel()).untyped_storage()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None

    def forward(self, x):
        if self.out is None:
            self.out = torch.empty_like(x)
        torch.clamp(x, min=0, out=self.out)
        return self.out.as_subclass(Elsewhere)
