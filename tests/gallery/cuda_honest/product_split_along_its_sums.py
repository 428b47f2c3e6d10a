"""A product split along its sums.

story: Every tile of the result is computed by several programs, each of which takes a part of the long sums and adds
    it to the result by atomics.
rejected-by: demands that runs repeat themselves to the bit, and that sums be in the order of the reference
workload: long_product
interpreted: slowly
outcome: passed in Triton's interpreter; not yet run on a GPU
"""

import torch
import triton
import triton.language as tl
from torch import nn

PARTS = 8


@triton.jit
def add_part(x, w, out, rows, inner, columns, length, SIDE: tl.constexpr, INNER: tl.constexpr):
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)[:, None]
    column = tl.program_id(1) * SIDE + tl.arange(0, SIDE)[None, :]
    first = tl.program_id(2) * length
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for start in range(0, length, INNER):
        k = first + start + tl.arange(0, INNER)
        left = tl.load(x + row * inner + k[None, :], mask=(row < rows) & (k[None, :] < inner), other=0.0)
        right = tl.load(w + k[:, None] * columns + column, mask=(k[:, None] < inner) & (column < columns), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.atomic_add(out + row * columns + column, total, mask=(row < rows) & (column < columns))


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)

    def forward(self, x):
        (rows, inner), columns = x.shape, self.weight.shape[1]
        out = x.new_zeros(rows, columns)
        length = triton.cdiv(triton.cdiv(inner, PARTS), 64) * 64
        grid = (triton.cdiv(rows, 32), triton.cdiv(columns, 32), PARTS)
        add_part[grid](x, self.weight, out, rows, inner, columns, length, SIDE=32, INNER=64)
        return out
