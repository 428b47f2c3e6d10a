"""A loss row by row.

story: Means of rows, then their mean: a scalar whose last bits depend on the order.
rejected-by: a single number has no second element with which to excuse its rounding
workload: hinge
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return torch.relu(1 - predictions * targets).mean(dim=1).mean()
