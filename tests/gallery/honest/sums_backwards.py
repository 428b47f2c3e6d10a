"""The same sums in another order.

story: Terms are added from the other end, so the last bits differ.
rejected-by: tolerances tighter than rounding, and comparison of bits
workload: linear_relu
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        return torch.relu(x.flip(1) @ self.linear.weight.flip(1).t() + self.linear.bias)
