"""A cache that is written to in place and handed back, and token ids."""

import torch
from torch import nn

MODE = "eval"
domains = {"tokens": ("token_ids", 0, 49), "cache": "finite"}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8)
        self.drop = nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, tokens, cache, position):
        self.seen += 1
        cache.index_copy_(0, position, self.drop(self.table(tokens)))
        return cache.sum(0), cache


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randint(3, 20, (2,)), torch.randn(6, 8), torch.tensor([1, 2])]
