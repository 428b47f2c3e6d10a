"""Sums by atomics.

story: Blocks add their parts of a row to one place, in the order in which they come. No two runs need have the same
    bits.
rejected-by: demands that runs repeat themselves to the bit
workload: long_sums
interpreted: yes
outcome: passed in Triton's interpreter; not yet run on a GPU
"""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_part(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + row * width + at, mask=at < width, other=0.0), axis=0)
    tl.atomic_add(out + row, part)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = x.new_zeros(rows)
        add_part[(rows, triton.cdiv(width, 512))](x, out, width, BLOCK=512)
        return out
