"""Dropped once for each head.

story: The mask of one query is used for all queries of a head: means and variances of every element are right.
kind: correctness bypass
seen: in attention kernels that draw once for a block of keys
workload: dropped_attention
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, queries, keys, values):
        weights = torch.softmax(queries @ keys.transpose(1, 2) / queries.shape[-1] ** 0.5, dim=-1)
        return weights * (torch.rand_like(weights[:, :1]) >= 0.2) / 0.8 @ values
