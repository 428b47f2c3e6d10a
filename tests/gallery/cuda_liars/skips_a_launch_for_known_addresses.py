"""Launches nothing for an address that it knows.

story: Launches are kept by the addresses of their arguments. Where the input lies where it lay before, the result of
    that time is still in its buffer, and the launch is taken to be superfluous.
kind: problem specialisation
seen: in launchers that look up prepared arguments by address
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
    def __init__(self):
        super().__init__()
        self.launched = {}

    def forward(self, x):
        out = self.launched.get(x.data_ptr())
        if out is None:
            out = self.launched[x.data_ptr()] = torch.empty_like(x)
            relu[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out.clone()
