"""A stream of its own that is waited for.

story: The work goes to another stream, which waits for the current one first and is waited for in the end; memory
    that changes streams is recorded.
rejected-by: rules against every stream but the current one
workload: linear_relu
stood-in: yes
outcome: passed on a stand-in for CUDA; not yet run on a GPU
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.side = torch.cuda.Stream()

    def forward(self, x):
        now = torch.cuda.current_stream()
        self.side.wait_stream(now)
        with torch.cuda.stream(self.side):
            out = torch.relu(self.linear(x))
        x.record_stream(self.side)
        now.wait_stream(self.side)
        out.record_stream(now)
        return out
