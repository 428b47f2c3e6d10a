"""Breaks off on the device.

story: A kernel runs into an instruction that ends it, as a failed assert in library code does.
kind: mistake
seen: with asserts that were compiled in, and with stacks that ran over
workload: relu
ends-as: builds
says: A kernel broke off
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
    value = tl.inline_asm_elementwise(
        "{ trap; mov.b32 $0, $1; }", "=f,f", [value], dtype=tl.float32, is_pure=False, pack=1
    )
    tl.store(out + at, tl.maximum(value, 0.0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out
