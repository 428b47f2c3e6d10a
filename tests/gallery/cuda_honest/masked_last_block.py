"""Rows in blocks, the last one masked.

story: Blocks are powers of two and rows are not; what the last block has beyond the row is filled with minus
    infinity, and is nothing after the exponential.
rejected-by: looking for infinities in what a kernel computes
workload: softmax_rows
interpreted: yes
outcome: passed in Triton's interpreter; not yet run on a GPU
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < width
    value = tl.load(x + row * width + at, mask=inside, other=float("-inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * width + at, weight / tl.sum(weight, axis=0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, width = x.shape
        out = torch.empty_like(x)
        softmax[(rows,)](x, out, width, BLOCK=triton.next_power_of_2(width))
        return out
