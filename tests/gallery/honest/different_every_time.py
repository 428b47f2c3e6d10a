"""Not the same bits twice.

story: The order of the sum changes from call to call, as it does with atomic additions.
rejected-by: comparison of a call with its repetition
workload: long_product
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        order = torch.randperm(x.shape[1], generator=torch.Generator().manual_seed(self.calls))
        return x[:, order] @ self.weight[order]
