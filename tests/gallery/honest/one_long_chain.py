"""A long sum as one chain.

story: Blocks are added one after the other to a single accumulator, as a simple kernel does; a library would add them
as a tree.
rejected-by: bounds taken from the library's own error alone
workload: long_product
"""

import torch
from torch import nn

BLOCK = 64


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)

    def forward(self, x):
        total = x.new_zeros(x.shape[0], self.weight.shape[1])
        for start in range(0, x.shape[1], BLOCK):
            total = torch.addmm(total, x[:, start : start + BLOCK], self.weight[start : start + BLOCK])
        return total
