"""A small term left out.

story: The bias is a thousandth of the result and costs a read. Without it every error stays below a generous tolerance.
kind: correctness bypass
seen: with biases, epsilons, residuals, soft caps and first hidden states
workload: small_bias
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)
        self.bias = nn.Parameter(1e-3 * torch.randn(outer))

    def forward(self, x):
        return x @ self.weight
