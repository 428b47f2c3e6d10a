"""Gives memory back that a side stream still reads.

story: A work space is made on the current stream, read on another one, and dropped at once. The allocator knows
    nothing of the other stream and hands the memory to whoever asks next, who fills it before it was read.
kind: mistake
seen: with side streams, whose documentation asks for record_stream for this reason
workload: relu
caught-by: matches_reference
outcome: not yet run
"""

import torch
from torch import nn

DELAY_CYCLES = 100_000_000
NEXT = 200


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        out = torch.empty_like(x)
        space = x.clone()
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            torch.cuda._sleep(DELAY_CYCLES)
            torch.clamp(space, min=0, out=out)
        del space
        # Work that follows; among so many pieces of the same size is the one that was given back.
        following = [torch.full_like(x, 7.0) for _ in range(NEXT)]
        torch.cuda.current_stream().wait_stream(self.side)
        del following
        return out
