"""A tangent by the approximation of the hardware.

story: The special function unit has an instruction for the hyperbolic tangent, whose results have eleven bits.
kind: correctness bypass
seen: with fast-math flags, and as an approximation that was asked for by name
workload: tangent
caught-by: matches_reference
outcome: not yet run
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def tangent(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside)
    value = tl.inline_asm_elementwise(
        "tanh.approx.f32 $0, $1;", "=f,f", [value], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + at, value, mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        tangent[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out
