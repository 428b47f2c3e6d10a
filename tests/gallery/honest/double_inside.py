"""Double precision inside.

story: More accurate than what it is compared with, and therefore different from it.
rejected-by: comparison with the baseline's own rounding
workload: small_bias
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)
        self.bias = nn.Parameter(1e-3 * torch.randn(outer))

    def forward(self, x):
        return (x.double() @ self.weight.double() + self.bias.double()).float()
