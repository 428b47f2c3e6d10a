"""Parameters under other names.

story: No name is the workload's; the shapes tell which is which.
rejected-by: loading by name alone
workload: linear_relu
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.matrix = nn.Parameter(torch.zeros(outer, inner))
        self.shift = nn.Parameter(torch.zeros(outer))

    def forward(self, x):
        return torch.relu(torch.addmm(self.shift, x, self.matrix.t()))
