"""Lets its second kernel start before the first has written.

story: The first kernel announces at its very beginning that its dependents may be launched, and the second one never
    waits for what it depends on. It reads what the call before this one left.
kind: mistake
seen: with programmatic dependent launch, where the wait is a matter of the second kernel's own
workload: relu
caught-by: matches_reference
outcome: not yet run
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def doubled(x, out, count, BLOCK: tl.constexpr):
    tl.extra.cuda.gdc_launch_dependents()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside)
    value = tl.inline_asm_elementwise(
        "{ nanosleep.u32 900000; mov.b32 $0, $1; }", "=f,f", [value], dtype=tl.float32, is_pure=False, pack=1
    )
    tl.store(out + at, 2.0 * value, mask=inside)


@triton.jit
def half_of_relu(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, 0.5 * tl.maximum(tl.load(x + at, mask=inside), 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.space = None

    def forward(self, x):
        if self.space is None:
            self.space = torch.zeros_like(x)
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 256),)
        doubled[grid](x, self.space, x.numel(), BLOCK=256)
        half_of_relu[grid](self.space, out, x.numel(), BLOCK=256, launch_pdl=True)
        return out
