"""A fully connected layer over eight thousand numbers."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(8, 8192)]


def get_init_inputs():
    return [8192, 16]
