"""A fully connected layer with dropout in train mode, before what bends it."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.dropout = nn.Dropout(0.25)

    def forward(self, x):
        return nn.functional.gelu(self.dropout(self.linear(x)))


def get_inputs():
    return [torch.randn(48, 64)]


def get_init_inputs():
    return [64, 72]
