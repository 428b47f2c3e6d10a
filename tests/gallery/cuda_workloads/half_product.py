"""A product in half precision, with long sums and enough tiles that a library need not split them."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(inner, outer) / inner**0.5).half())

    def forward(self, x):
        return x @ self.weight


def get_inputs():
    return [torch.randn(2048, 4096).half()]


def get_init_inputs():
    return [4096, 2048]
