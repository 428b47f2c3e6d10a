"""Rows divided by their root mean square; some of them are quiet."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-5) * self.scale


def get_inputs():
    return [torch.randn(48, 96) * torch.logspace(-3, 1, 48)[:, None]]


def get_init_inputs():
    return [96]
