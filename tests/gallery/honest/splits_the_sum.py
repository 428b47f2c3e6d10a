"""A long sum in parts.

story: The inner dimension is cut into parts that are summed alone and then together, as a split-K kernel does.
rejected-by: one absolute tolerance for all lengths of sums
workload: long_product
"""

import torch
from torch import nn

PARTS = 8


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)

    def forward(self, x):
        parts = zip(x.chunk(PARTS, dim=1), self.weight.chunk(PARTS, dim=0), strict=True)
        return torch.stack([a @ b for a, b in parts]).sum(dim=0)
