"""A tensor without memory.

story: The result has the right shape and type and lies on a device that keeps no values.
kind: correctness bypass
seen: in checkers that look at shapes before they look at values
workload: relu
caught-by: keeps_interface
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x, device="meta")
