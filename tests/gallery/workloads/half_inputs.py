"""A gated layer in bfloat16: operands, weights and results have sixteen bits."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.up = nn.Linear(inner, outer, bias=False, dtype=torch.bfloat16)

    def forward(self, x, gate):
        return self.up(x) * torch.sigmoid(gate)


def get_inputs():
    return [torch.randn(32, 2048).bfloat16(), torch.randn(32, 48).bfloat16()]


def get_init_inputs():
    return [2048, 48]
