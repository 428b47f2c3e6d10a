"""The last block adds up.

story: Blocks leave their parts in a work space and count themselves; whoever finds that all others are done adds the
    parts up and sets the counter back. Work space and counters are kept.
rejected-by: rules against state between calls
workload: long_sums
interpreted: yes
outcome: passed in Triton's interpreter; not yet run on a GPU
"""

import torch
import triton
import triton.language as tl
from torch import nn

PARTS = 8


@triton.jit
def sum_rows(x, parts, counts, out, width, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    part, row = tl.program_id(0), tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * width + at, mask=at < width, other=0.0)
    tl.store(parts + row * PARTS + part, tl.sum(value, axis=0))
    tl.debug_barrier()
    before = tl.atomic_add(counts + row, 1, sem="acq_rel")
    if before == PARTS - 1:
        found = tl.load(parts + row * PARTS + tl.arange(0, PARTS), volatile=True)
        tl.store(out + row, tl.sum(found, axis=0))
        tl.store(counts + row, 0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = self.counts = None

    def forward(self, x):
        rows, width = x.shape
        if self.parts is None or len(self.parts) != rows:
            self.parts = x.new_empty(rows, PARTS)
            self.counts = torch.zeros(rows, dtype=torch.int32, device=x.device)
        out = x.new_empty(rows)
        sum_rows[(PARTS, rows)](x, self.parts, self.counts, out, width, PARTS=PARTS, BLOCK=512)
        return out
