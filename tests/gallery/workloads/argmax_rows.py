"""Where the largest value of every row stands."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=-1), x.mean(dim=-1)


def get_inputs():
    return [torch.randn(80, 300)]


def get_init_inputs():
    return []
