"""Sorted to the end.

story: The whole row is sorted, from the other end, and the first five are taken. Of equal elements it may name others.
rejected-by: comparison of indices
workload: best_five
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        ordered = torch.sort(x, dim=-1)
        return ordered.values[:, -5:].flip(-1), ordered.indices[:, -5:].flip(-1)
