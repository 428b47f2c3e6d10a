"""A sum of exponentials that overflows.

story: One pass over the row instead of two: the largest element is never looked for.
kind: correctness bypass
seen: in loss kernels; samples around zero never show it
workload: log_sum_exp
when: in turn
caught-by: matches_reference
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.exp().sum(dim=-1).log()
