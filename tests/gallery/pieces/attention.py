"""Attention of several heads, with its projections."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.three = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        query, key, value = (
            each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.three(x).chunk(3, dim=-1)
        )
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(seen.transpose(1, 2).flatten(2))


def get_inputs():
    return [torch.randn(2, 32, 64)]


def get_init_inputs():
    return [64, 4]
