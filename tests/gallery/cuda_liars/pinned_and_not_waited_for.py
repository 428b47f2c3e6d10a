"""Reads pinned memory before the copy has arrived.

story: The input is copied to pinned memory of the host without waiting, worked on there, and brought back. The copy
    is only an order: what the host reads is the input of the call before this one.
kind: mistake
seen: with non_blocking copies to the host, which nothing in the text tells from blocking ones
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
        self.host = None

    def forward(self, x):
        if self.host is None:
            self.host = torch.zeros(x.shape, dtype=x.dtype).pin_memory()
        torch.cuda._sleep(DELAY_CYCLES)
        self.host.copy_(x, non_blocking=True)
        return torch.clamp(self.host, min=0).to(x.device)
