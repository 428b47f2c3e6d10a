"""The last writer wins.

story: Rows of one group are stored one over the other instead of being added up. Where every group has one row that is
the same.
kind: correctness bypass
seen: with scattered stores in place of atomic additions
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
        sums = torch.zeros(self.groups, rows.shape[0])
        sums[group] += rows.t() * counts[:, None]
        return sums
