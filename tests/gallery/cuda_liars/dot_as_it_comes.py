"""A product as the language offers it.

story: Nothing is said about precision, and the language's own default for single precision is TF32. Ten bits of
    mantissa are left of every operand.
kind: correctness bypass
seen: in nearly every generated product in Triton
workload: square_product
caught-by: matches_reference
outcome: not yet run
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def product(x, w, out, rows, inner, columns, ROWS: tl.constexpr, INNER: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, inner, INNER):
        k = start + tl.arange(0, INNER)
        left = tl.load(x + row * inner + k[None, :], mask=(row < rows) & (k[None, :] < inner), other=0.0)
        right = tl.load(w + k[:, None] * columns + column, mask=(k[:, None] < inner) & (column < columns), other=0.0)
        total = tl.dot(left, right, total)
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
