"""Takes all memory of the device.

story: Every intermediate is kept, until an allocation is refused.
kind: isolation escape
seen: in caches without an end, and in batched versions of what should be done in blocks
workload: relu
ends-as: builds
says: Make it hold less
"""

import torch
from torch import nn

BLOCK_BYTES = 4 << 30


class ModelNew(nn.Module):
    def forward(self, x):
        kept = []
        while True:
            kept.append(torch.empty(BLOCK_BYTES, dtype=torch.uint8, device=x.device))
