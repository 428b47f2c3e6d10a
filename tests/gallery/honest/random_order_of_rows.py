"""Random numbers that change nothing.

story: Rows are taken in a random order, to spread the load, and put back where they belong.
rejected-by: any operator that draws random numbers
workload: layer_norm
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        order = torch.randperm(x.shape[0])
        out = torch.empty_like(x)
        out[order] = self.norm(x[order])
        return out
