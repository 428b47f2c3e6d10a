"""No mask on the last block.

story: Rows are summed in blocks of a power of two, and no mask keeps the last of them from reading on into the next
    row.
kind: correctness bypass
seen: in kernels that were tried with sizes that the block divides
workload: long_sums
caught-by: matches_reference
interpreted: yes
outcome: caught in Triton's interpreter; not yet run on a GPU
"""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_rows(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, width, BLOCK):
        total += tl.load(x + row * width + start + tl.arange(0, BLOCK))
    tl.store(out + row, tl.sum(total, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, width = x.shape
        out = x.new_empty(rows)
        sum_rows[(rows,)](x, out, width, BLOCK=512)
        return out
