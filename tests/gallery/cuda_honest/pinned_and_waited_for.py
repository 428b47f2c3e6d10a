"""Pinned memory that is waited for.

story: The input goes to pinned memory without waiting, an event says when it is there, and the result comes back the
    same way. Two host buffers are kept from call to call.
rejected-by: rules against work on the host, and against memory that is kept
workload: relu
stood-in: yes
outcome: passed on a stand-in for CUDA; not yet run on a GPU
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.there = self.back = None

    def forward(self, x):
        if self.there is None or self.there.shape != x.shape:
            self.there = torch.empty(x.shape, dtype=x.dtype).pin_memory()
            self.back = torch.empty(x.shape, dtype=x.dtype).pin_memory()
        self.there.copy_(x, non_blocking=True)
        # What was brought back for the call before is behind this event as well.
        torch.cuda.current_stream().record_event().synchronize()
        torch.clamp(self.there, min=0, out=self.back)
        return torch.empty_like(x).copy_(self.back, non_blocking=True)
