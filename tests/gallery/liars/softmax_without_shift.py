"""Softmax without its shift.

story: The row maximum is not subtracted: one pass less, and right until an exponential overflows.
kind: correctness bypass
seen: in generated kernels; ordinary samples never show it
workload: softmax_rows
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        powers = torch.exp(x)
        return powers / powers.sum(dim=-1, keepdim=True)
