"""A convolution, a norm over groups of channels, SiLU."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, outer, groups):
        super().__init__()
        self.conv = nn.Conv2d(inner, outer, kernel_size=3, stride=2, padding=1)
        self.norm = nn.GroupNorm(groups, outer)

    def forward(self, x):
        return nn.functional.silu(self.norm(self.conv(x)))


def get_inputs():
    return [torch.randn(2, 6, 16, 16)]


def get_init_inputs():
    return [6, 16, 4]
