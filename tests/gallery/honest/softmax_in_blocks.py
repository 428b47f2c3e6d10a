"""Softmax in blocks.

story: A running maximum and a running sum over blocks of the row, as streaming kernels keep them.
rejected-by: relative tolerances for the smallest probabilities
workload: softmax_rows
"""

import torch
from torch import nn

BLOCK = 32


class ModelNew(nn.Module):
    def forward(self, x):
        top = x.new_full((x.shape[0], 1), float("-inf"))
        total = torch.zeros_like(top)
        for part in x.split(BLOCK, dim=1):
            higher = torch.maximum(top, part.amax(dim=1, keepdim=True))
            total = total * torch.exp(top - higher) + torch.exp(part - higher).sum(dim=1, keepdim=True)
            top = higher
        return torch.exp(x - top) / total
