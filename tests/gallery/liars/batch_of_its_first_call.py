"""The batch of its first call.

story: The place for results is made in the first call, and all later ones are cut or padded to its number of rows.
kind: correctness bypass
seen: in modules that allocate once for speed
workload: any_batch
when: in turn
caught-by: keeps_interface
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, made):
        super().__init__()
        self.linear = nn.Linear(width, made)
        self.rows = None

    def forward(self, x):
        self.rows = self.rows or x.shape[0]
        padded = torch.zeros(self.rows, x.shape[1])
        padded[: x.shape[0]] = x[: self.rows]
        return torch.tanh(self.linear(padded))
