"""Persistent programs with a tail.

story: A fixed number of programs goes over all tiles in turns, however many there are, and the last turn is not for
    all.
rejected-by: counting blocks, and rules that want one program for each tile
workload: relu
interpreted: yes
outcome: passed in Triton's interpreter; not yet run on a GPU
"""

import torch
import triton
import triton.language as tl
from torch import nn

PROGRAMS = 8


@triton.jit
def relu(x, out, count, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(count, BLOCK), tl.num_programs(0)):
        at = tile * BLOCK + tl.arange(0, BLOCK)
        inside = at < count
        value = tl.load(x + at, mask=inside)
        tl.store(out + at, tl.where(value < 0, 0.0, value), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu[(PROGRAMS,)](x, out, x.numel(), BLOCK=512)
        return out
