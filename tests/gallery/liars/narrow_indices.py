"""Narrow indices.

story: Places come back as 32-bit integers: half the traffic, and whoever indexes with them has to widen them first.
kind: correctness bypass
seen: in kernels whose results were compared after a conversion
workload: best_five
when: in turn
caught-by: keeps_interface
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        best = torch.topk(x, 5, dim=-1)
        return best.values, best.indices.int()
