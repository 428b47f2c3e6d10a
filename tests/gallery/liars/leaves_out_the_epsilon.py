"""An epsilon left out.

story: Rows are divided by their root mean square alone. Ordinary rows hardly notice what is added below the root;
quiet ones are blown up, and a row of zeros becomes NaN.
kind: correctness bypass
seen: in normalisation kernels, where the number looks like a matter of taste
workload: rms_norm
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True)) * self.scale
