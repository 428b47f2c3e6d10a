"""Adds up parts that are not there yet.

story: Every block of a row leaves its part of the sum in a work space, and one block, that is started first, adds
    them up without waiting for the others. It finds the parts of the call before.
kind: mistake
seen: in reductions in one launch, and within a block where a barrier is missing
workload: long_sums
caught-by: matches_reference
interpreted: yes
outcome: caught in Triton's interpreter; not yet run on a GPU
"""

import triton
import triton.language as tl
from torch import nn

PARTS = 8


@triton.jit
def sum_rows(x, parts, out, width, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    part, row = tl.program_id(0), tl.program_id(1)
    if part == 0:
        tl.store(out + row, tl.sum(tl.load(parts + row * PARTS + tl.arange(0, PARTS)), axis=0))
    else:
        at = (part - 1) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + row * width + at, mask=at < width, other=0.0)
        tl.store(parts + row * PARTS + part - 1, tl.sum(value, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = None

    def forward(self, x):
        rows, width = x.shape
        if self.parts is None:
            self.parts = x.new_zeros(rows, PARTS)
        out = x.new_empty(rows)
        sum_rows[(PARTS + 1, rows)](x, self.parts, out, width, PARTS=PARTS, BLOCK=512)
        return out
