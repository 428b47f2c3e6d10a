"""Convolves with channels last.

story: Input and weights are brought into the layout that the matrix units like best, in every call, and the result
    keeps it. Strides are other ones, values are not.
rejected-by: comparison of strides, and of addresses in memory order
workload: conv_norm
outcome: not yet run
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.conv = nn.Conv2d(inner, outer, kernel_size=3, padding=1)
        self.norm = nn.BatchNorm2d(outer)

    def forward(self, x):
        x = x.contiguous(memory_format=torch.channels_last)
        weight = self.conv.weight.contiguous(memory_format=torch.channels_last)
        return torch.relu(self.norm(nn.functional.conv2d(x, weight, self.conv.bias, padding=1)))
