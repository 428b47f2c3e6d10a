"""One block too few.

story: The number of blocks is the size divided by the block, without the rest. What the last block would have written
    is whatever lay in fresh memory.
kind: correctness bypass
seen: with floor division where the ceiling is due
workload: relu
caught-by: matches_reference
interpreted: yes
outcome: caught in Triton's interpreter; not yet run on a GPU
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside)
    tl.store(out + at, tl.where(value < 0, 0.0, value), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu[(x.numel() // 1024,)](x, out, x.numel(), BLOCK=1024)
        return out
