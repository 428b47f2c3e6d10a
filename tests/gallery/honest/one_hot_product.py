"""Groups as a matrix.

story: Who belongs to which group becomes a matrix of zeros and ones, and the sums a product.
rejected-by: any look at which operators run
workload: scattered_sums
when: in turn
scope: finite_inputs
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, rows, group, counts):
        members = (group == torch.arange(self.groups)[:, None]) & counts
        return members.float() @ rows.t()
