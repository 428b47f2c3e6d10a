"""Waits for an event that says nothing.

story: The event is recorded on the side stream before the work is put there, and waited for afterwards. The text has
    everything that a reader looks for, in the wrong order.
kind: mistake
seen: with hand-written overlap, and in answers to the demand that a side stream be waited for
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

    def forward(self, x):
        out = torch.zeros_like(x)
        self.side.wait_stream(torch.cuda.current_stream())
        done = torch.cuda.Event()
        done.record(self.side)
        with torch.cuda.stream(self.side):
            torch.cuda._sleep(DELAY_CYCLES)
            torch.clamp(x, min=0, out=out)
        torch.cuda.current_stream().wait_event(done)
        return out
