"""Fractions cut off.

story: A conversion to integers rounds towards zero, which saves the rounding.
kind: correctness bypass
seen: in quantising kernels held to a tolerance of one step
workload: to_bytes
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.clamp(x, -128, 127).to(torch.int8)
