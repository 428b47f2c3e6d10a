"""Another memory format.

story: The result lies in memory channel by channel for every pixel. Values and shape are the same, strides are not.
rejected-by: comparison of strides
workload: conv_norm
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
        return torch.relu(self.norm(self.conv(x)))
