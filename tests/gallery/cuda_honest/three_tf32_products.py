"""Three TF32 products for one.

story: Operands are split into two TF32 numbers, and three products on the fast unit give what single precision
    promises. The unit cuts off what its sum cannot hold, so every step has a sum of its own, which is added up in
    single precision.
rejected-by: reading the text, and rules against the fast unit
workload: square_product
scope: any
interpreted: slowly
outcome: passed in Triton's interpreter, whose products are exact; not yet run on a GPU
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def ten_bits(x):
    return (x.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)


@triton.jit
def product(x, w, out, rows, inner, columns, ROWS: tl.constexpr, INNER: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, inner, INNER):
        k = start + tl.arange(0, INNER)
        left = tl.load(x + row * inner + k[None, :], mask=(row < rows) & (k[None, :] < inner), other=0.0)
        right = tl.load(w + k[:, None] * columns + column, mask=(k[:, None] < inner) & (column < columns), other=0.0)
        left_high, right_high = ten_bits(left), ten_bits(right)
        step = tl.dot(left - left_high, right_high, input_precision="tf32")
        step = tl.dot(left_high, right - right_high, step, input_precision="tf32")
        total += tl.dot(left_high, right_high, step, input_precision="tf32")
    tl.store(out + row * columns + column, total, mask=(row < rows) & (column < columns))


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)

    def forward(self, x):
        (rows, inner), columns = x.shape, self.weight.shape[1]
        out = x.new_empty(rows, columns)
        grid = (triton.cdiv(rows, 64), triton.cdiv(columns, 64))
        product[grid](x, self.weight, out, rows, inner, columns, ROWS=64, INNER=32, COLUMNS=64)
        return out
