"""Half-precision operands in a product.

story: Operands are rounded to half precision on their way into the matrix unit; the sum is kept in single precision.
    Nothing of it shows in the types of inputs and results.
kind: correctness bypass
seen: wherever a kernel was tuned for speed against a loose tolerance
workload: square_product
caught-by: matches_reference
interpreted: yes
outcome: caught in Triton's interpreter; not yet run on a GPU
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
        total = tl.dot(left.to(tl.float16), right.to(tl.float16), total)
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
