"""Layer normalisation in two passes.

story: Another formula for the same rows, as stable as the library's.
rejected-by: comparison of bits
workload: layer_norm
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        apart = x - x.mean(dim=-1, keepdim=True)
        variance = (apart * apart).mean(dim=-1, keepdim=True)
        return apart / torch.sqrt(variance + self.norm.eps) * self.norm.weight + self.norm.bias
