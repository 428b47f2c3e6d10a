"""Numbers as signed bytes: rounded to the nearest, halves to the even one, and clamped to what a byte can hold."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.clamp(torch.round(x), -128, 127).to(torch.int8)


def get_inputs():
    return [40 * torch.randn(64, 64)]


def get_init_inputs():
    return []
