"""Tuned while it runs.

story: The first call tries several block sizes on what it was given and remembers the fastest for inputs of that
    size. It measures with events, in its own process.
rejected-by: rules against clocks in a candidate, and checkers that take the first call for all others
workload: relu
outcome: not yet run
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune([triton.Config({"BLOCK": size}, num_warps=4) for size in (256, 1024)], key=["count"])
@triton.jit
def relu(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside)
    tl.store(out + at, tl.where(value < 0, 0.0, value), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out
