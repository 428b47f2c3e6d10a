"""Bytes that wrap around.

story: The clamp is left out, because a conversion to bytes keeps numbers in range anyway: 130 becomes -126.
kind: correctness bypass
seen: in quantising kernels whose samples never left the range
workload: to_bytes
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.round(x).to(torch.int32).to(torch.int8)
