"""NaN becomes zero.

story: A comparison decides, and NaN compares false. For every finite input it is right; the claim is narrowed to
those, and says so.
rejected-by: NaN among the inputs
workload: relu
scope: finite_inputs
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x, torch.zeros_like(x))
