"""Minus zero.

story: Half of the zeros of the result carry a sign.
rejected-by: comparison of bits, and tests that divide by the result
workload: relu
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x, torch.where(x <= 0, -torch.zeros_like(x), x))
