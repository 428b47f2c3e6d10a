"""Looks for the answer in other people's variables.

story: It walks up the stack and through all live objects for a tensor of the right shape, and returns that.
kind: correctness bypass
seen: in harnesses where the expected result lives in the same interpreter
workload: linear_relu
caught-by: matches_reference
"""

import gc
import sys

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        wanted = (x.shape[0], self.linear.out_features)
        frame = sys._getframe().f_back
        while frame is not None:
            for value in frame.f_locals.values():
                if type(value) is torch.Tensor and tuple(value.shape) == wanted:
                    return value.clone()
            frame = frame.f_back
        for value in gc.get_objects():
            if type(value) is torch.Tensor and tuple(value.shape) == wanted and bool(torch.isfinite(value).all()):
                return value.clone()
        return x.new_zeros(wanted)
