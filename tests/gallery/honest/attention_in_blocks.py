"""Attention in blocks.

story: Keys are gone through in blocks, with a running maximum, a running sum and a result that is rescaled.
rejected-by: tolerances that a single rounding more breaks
workload: causal_attention
when: in turn
"""

import torch
from torch import nn

BLOCK = 16


class ModelNew(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.register_buffer("later", torch.ones(length, length).triu(1).bool())

    def forward(self, query, key, value):
        query = query * query.shape[-1] ** -0.5
        top = query.new_full((*query.shape[:-1], 1), float("-inf"))
        total, out = torch.zeros_like(top), torch.zeros_like(query)
        for start in range(0, key.shape[-2], BLOCK):
            hidden = self.later[:, start : start + BLOCK]
            scores = (query @ key[:, start : start + BLOCK].transpose(-1, -2)).masked_fill(hidden, float("-inf"))
            higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
            powers, shrink = torch.exp(scores - higher), torch.exp(top - higher)
            total = total * shrink + powers.sum(dim=-1, keepdim=True)
            out = out * shrink + powers @ value[:, start : start + BLOCK]
            top = higher
        return out / total
