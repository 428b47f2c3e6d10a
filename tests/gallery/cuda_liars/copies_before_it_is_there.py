"""Copies a result before it is there.

story: A stream of its own computes into a buffer that is kept; the copy that is handed out is made at once, on the
    current stream, of what the call before this one left.
kind: timing bypass
seen: where a copy to the output was the only thing on the stream that was timed
workload: relu
caught-by: matches_reference
stood-in: yes
outcome: caught on a stand-in for CUDA; not yet run on a GPU
"""

import torch
from torch import nn

DELAY_CYCLES = 100_000_000


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.result = None

    def forward(self, x):
        if self.result is None:
            self.result = torch.zeros_like(x)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            torch.cuda._sleep(DELAY_CYCLES)
            torch.clamp(x, min=0, out=self.result)
        return self.result.clone()
