"""A dimension that got lost.

story: The sums of the rows are kept without their last axis. Where there are as many rows as columns nothing
complains, and every column is divided by the sum of another row.
kind: correctness bypass
seen: by accident, on square examples
workload: shares
when: in turn
caught-by: matches_reference
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x / (x.abs().sum(dim=-1) + 1)
