"""A product with a bias that is small beside it."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)
        self.bias = nn.Parameter(1e-3 * torch.randn(outer))

    def forward(self, x):
        return x @ self.weight + self.bias


def get_inputs():
    return [torch.randn(64, 96)]


def get_init_inputs():
    return [96, 80]
