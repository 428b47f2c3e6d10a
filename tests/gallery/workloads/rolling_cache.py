"""One step of attention over a cache that the caller owns: the step moves it in place."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)

    def forward(self, x, cache):
        cache.copy_(torch.cat([cache[:, 1:], self.key(x)[:, None]], dim=1))
        scores = torch.softmax(torch.einsum("bd,bld->bl", self.query(x), cache) / x.shape[-1] ** 0.5, dim=-1)
        return torch.einsum("bl,bld->bd", scores, cache)


def get_inputs():
    return [torch.randn(6, 32), torch.randn(6, 20, 32)]


def get_init_inputs():
    return [32]
