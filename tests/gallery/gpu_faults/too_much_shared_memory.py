"""Wants more shared memory than a block can have.

story: A product was pipelined so deep that the tiles on their way need more shared memory than there is.
kind: mistake
seen: with tile sizes that were tuned on another device
workload: linear_relu
ends-as: builds
says: shared memory
"""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def linear_relu(x, w, b, out, rows, inner, columns, ROWS: tl.constexpr, INNER: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, inner, INNER):
        k = start + tl.arange(0, INNER)
        left = tl.load(x + row * inner + k[None, :], mask=(row < rows) & (k[None, :] < inner), other=0.0)
        right = tl.load(w + column * inner + k[:, None], mask=(column < columns) & (k[:, None] < inner), other=0.0)
        total = tl.dot(left, right, total)
    total += tl.load(b + column, mask=column < columns, other=0.0)
    tl.store(out + row * columns + column, tl.maximum(total, 0.0), mask=(row < rows) & (column < columns))


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        weight, bias = self.linear.weight, self.linear.bias
        out = x.new_empty(x.shape[0], weight.shape[0])
        sizes = (x.shape[0], x.shape[1], weight.shape[0])
        linear_relu[(1,)](x, weight, bias, out, *sizes, ROWS=128, INNER=64, COLUMNS=128, num_warps=8, num_stages=8)
        return out
