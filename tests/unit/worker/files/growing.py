"""A cache object that grows: the call puts other tensors into it, and hands nothing of it back."""

import torch
from torch import nn

MODE = "eval"


class Cache:
    def __init__(self, rows):
        self.rows = rows
        self.length = rows.shape[0]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, cache):
        cache.rows = torch.cat([cache.rows, self.linear(x)])
        return cache.rows.sum(0)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1, 8), Cache(torch.randn(5, 8))]
