"""Scaled before the product.

story: The scale of dropout is multiplied into the inputs and the bias, and the mask is applied last.
rejected-by: comparison call by call, and of masks under one seed
workload: dropped_features
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        y = nn.functional.linear(x / 0.75, self.linear.weight, self.linear.bias / 0.75)
        return nn.functional.gelu(y.masked_fill(torch.rand_like(y) < 0.25, 0.0))
