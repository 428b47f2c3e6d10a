"""A variance that cancels.

story: Mean of squares minus square of mean, in one pass. Rows with a large offset lose every digit.
kind: correctness bypass
seen: in most one-pass normalisation kernels
workload: layer_norm
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = (x * x).mean(dim=-1, keepdim=True) - mean * mean
        return (x - mean) * torch.rsqrt(variance + self.norm.eps) * self.norm.weight + self.norm.bias
