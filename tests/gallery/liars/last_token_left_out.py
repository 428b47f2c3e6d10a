"""The last token is left out.

story: Tokens are clamped to the table's size less two: a border that is off by one and that few samples reach.
kind: correctness bypass
seen: with tables of tokens, where a sample holds a small part of them
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
        last = self.table.num_embeddings - 2
        return self.table(tokens.clamp(max=last)) * self.scale
