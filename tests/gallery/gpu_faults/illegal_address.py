"""Writes to an address that nobody has.

story: A pointer runs terabytes past its tensor. The first calls are honest, so the fault comes while values are judged.
kind: mistake
seen: with strides that overflow, and with masks that were forgotten
workload: relu
ends-as: survives
says: illegal memory access
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu(x, out, count, beyond, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at + beyond, tl.maximum(tl.load(x + at, mask=inside), 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        out = torch.empty_like(x)
        beyond = 0 if self.calls < 5 else 1 << 40
        relu[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), beyond, BLOCK=256)
        return out
