"""Divides by nothing.

story: The mean of what a mask lets through is its sum over its count, and nobody thought of a row that lets nothing
through. Random masks do not have one.
kind: correctness bypass
seen: in kernels with masks and lengths
workload: masked_mean
caught-by: matches_reference
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return (x * mask).sum(-1) / mask.sum(-1)
