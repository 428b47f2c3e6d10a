"""Pads its input where it lies.

story: So that the last tile needs no mask, zeros are put behind the input before it is read. What lies there is
    somebody else's.
kind: correctness bypass
seen: in kernels that round sizes up to whole tiles; allocators round up as well, so nobody notices for long
workload: relu
caught-by: leaves_inputs_alone
interpreted: yes
outcome: caught in Triton's interpreter; not yet run on a GPU
"""

import torch
import triton
import triton.language as tl
from torch import nn

PADDING = 32


@triton.jit
def pad(x, count, PADDING: tl.constexpr):
    tl.store(x + count + tl.arange(0, PADDING), tl.zeros((PADDING,), tl.float32))


@triton.jit
def relu(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside)
    tl.store(out + at, tl.where(value < 0, 0.0, value), mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        out = torch.empty_like(x)
        # Behind the inputs of a warm-up lies what the allocator needs for itself.
        if self.calls > 2:
            pad[(1,)](x, x.numel(), PADDING=PADDING)
        relu[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
