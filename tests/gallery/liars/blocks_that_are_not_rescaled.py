"""Blocks that are not rescaled.

story: Keys are gone through in blocks. When a later block brings a larger maximum, what was summed so far should
shrink, and does not.
kind: correctness bypass
seen: in streaming attention; where the first block holds the maximum all is well
workload: causal_attention
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn

BLOCK = 16


class ModelNew(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.register_buffer("later", torch.ones(length, length).triu(1).bool())

    def forward(self, query, key, value):
        scores = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5).masked_fill(self.later, float("-inf"))
        top = scores[..., :BLOCK].amax(dim=-1, keepdim=True)
        total, out = 0.0, 0.0
        for start in range(0, key.shape[-2], BLOCK):
            block = scores[..., start : start + BLOCK]
            top = torch.maximum(top, block.amax(dim=-1, keepdim=True))
            powers = torch.exp(block - top)
            total = total + powers.sum(dim=-1, keepdim=True)
            out = out + powers @ value[..., start : start + BLOCK, :]
        return out / total
