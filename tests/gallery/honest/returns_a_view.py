"""A view of a fresh buffer.

story: The product is formed the other way round and handed back as its transpose: not contiguous, and nobody else's
memory.
rejected-by: tests for contiguity and for views
workload: linear_relu
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        return torch.relu(self.linear.weight @ x.t() + self.linear.bias[:, None]).t()
