"""Tokens in a byte.

story: Names of rows are kept in eight bits. Tables in tests are small; in a larger one high tokens get the rows of
low ones.
kind: correctness bypass
seen: with narrow indices of all widths, up to products of sizes that leave 32 bits
workload: token_embedding
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.table = nn.Embedding(tokens, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, tokens):
        return self.table(tokens.to(torch.uint8).long()) * self.scale
