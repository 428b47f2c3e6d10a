"""Returns before the result is there.

story: The result is computed on another stream, correctly and late; nobody waits for it before it is handed out.
kind: mistake
seen: where work was overlapped and the last wait was forgotten
workload: relu
ends-as: matches_reference
says: Wrong
"""

import torch
import triton
import triton.language as tl
from torch import nn

DELAY_CYCLES = 200_000_000


@triton.jit
def relu(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.maximum(tl.load(x + at, mask=inside), 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        out = torch.empty_like(x)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            torch.cuda._sleep(DELAY_CYCLES)
            relu[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out
