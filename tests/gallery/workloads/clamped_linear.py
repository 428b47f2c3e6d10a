"""A fully connected layer whose result is clamped; the inputs of its own generator never reach the clamp."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        return torch.clamp(self.linear(x), -6.0, 6.0)


def get_inputs():
    return [torch.rand(48, 64)]


def get_init_inputs():
    return [64, 72]
