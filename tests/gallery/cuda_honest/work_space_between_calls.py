"""A work space that is kept.

story: Sums of rows are taken in two launches; what lies between them is a buffer that is made once and written in
    full by every call.
rejected-by: rules against memory that is kept between calls
workload: long_sums
interpreted: slowly
outcome: passed in Triton's interpreter; not yet run on a GPU
"""

import triton
import triton.language as tl
from torch import nn

PARTS = 8


@triton.jit
def sum_parts(x, parts, width, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    part, row = tl.program_id(0), tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * width + at, mask=at < width, other=0.0)
    tl.store(parts + row * PARTS + part, tl.sum(value, axis=0))


@triton.jit
def sum_of_parts(parts, out, PARTS: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(parts + row * PARTS + tl.arange(0, PARTS)), axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = None

    def forward(self, x):
        rows, width = x.shape
        if self.parts is None or len(self.parts) != rows:
            self.parts = x.new_empty(rows, PARTS)
        out = x.new_empty(rows)
        sum_parts[(PARTS, rows)](x, self.parts, width, PARTS=PARTS, BLOCK=512)
        sum_of_parts[(rows,)](self.parts, out, PARTS=PARTS)
        return out
