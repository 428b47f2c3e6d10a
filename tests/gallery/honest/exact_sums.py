"""Sums without rounding.

story: Sums are formed in double precision and rounded once; the library rounds at every step.
rejected-by: comparison with the library's own rounding
workload: sum_and_max
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.double().sum(dim=-1).float(), x.max(dim=-1).values
