"""Asks for more blocks than there can be.

story: One program per element of a space that was multiplied out wrongly.
kind: mistake
seen: with grids that were sized in bytes, or squared
workload: relu
ends-as: builds
says: A launch takes at most 2147483647 blocks
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.maximum(tl.load(x + at, mask=inside), 0.0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu[(1 << 31,)](x, out, x.numel(), BLOCK=256)
        return out
