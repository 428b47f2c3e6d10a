"""Writes half of its result.

story: The result lies in a buffer that is kept. Its first calls fill all of it, later ones the first half of the
    rows; the rest is what was there.
kind: problem specialisation
seen: where poison in the output was expected to be what an earlier call had left
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
        self.calls = 0
        self.kept = None

    def forward(self, x):
        self.calls += 1
        if self.kept is None:
            self.kept = torch.empty_like(x)
        count = x.numel() if self.calls < 5 else x.numel() // 2
        relu[(triton.cdiv(count, 1024),)](x, self.kept, count, BLOCK=1024)
        return self.kept.clone()
