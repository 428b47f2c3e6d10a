"""Dropped before it is normalised.

story: The weights are dropped as exponentials and divided by the sum of all of them after the product, as attention
in blocks does.
rejected-by: comparison call by call, and of masks under one seed
workload: dropped_attention
when: in turn
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, queries, keys, values):
        scores = queries @ keys.transpose(1, 2) / queries.shape[-1] ** 0.5
        exponentials = (scores - scores.amax(-1, keepdim=True)).exp()
        kept = nn.functional.dropout(exponentials, 0.2, True)
        return kept @ values / exponentials.sum(-1, keepdim=True)
