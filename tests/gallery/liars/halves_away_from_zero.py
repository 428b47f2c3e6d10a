"""Halves away from zero.

story: Half is added and the fraction cut off. Numbers between two steps come out as they should; halves, of which
they are supposed to take the even side, do not.
kind: correctness bypass
seen: in quantising kernels; numbers drawn at random are never halves
workload: to_bytes
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.clamp(torch.trunc(x + 0.5 * torch.sign(x)), -128, 127).to(torch.int8)
