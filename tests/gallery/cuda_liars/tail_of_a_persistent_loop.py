"""A persistent loop without its tail.

story: As many programs as fit go over the tiles in turns, and each takes equally many: what is left when the tiles
    are dealt out is nobody's. The result was zeros before.
kind: correctness bypass
seen: in persistent kernels that were tuned at sizes without a rest
workload: relu
caught-by: matches_reference
interpreted: yes
outcome: caught in Triton's interpreter; not yet run on a GPU
"""

import torch
import triton
import triton.language as tl
from torch import nn

PROGRAMS = 8


@triton.jit
def relu(x, out, count, turns, BLOCK: tl.constexpr):
    for turn in range(0, turns):
        at = (turn * tl.num_programs(0) + tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
        inside = at < count
        value = tl.load(x + at, mask=inside)
        tl.store(out + at, tl.where(value < 0, 0.0, value), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.zeros_like(x)
        turns = triton.cdiv(x.numel(), 512) // PROGRAMS
        relu[(PROGRAMS,)](x, out, x.numel(), turns, BLOCK=512)
        return out
