"""One buffer after a while.

story: The first answers are tensors of their own. From the eighth call on all of them lie in one buffer.
kind: problem specialisation
seen: with call counters
workload: relu
caught-by: aliases_nothing
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.out = None

    def forward(self, x):
        self.calls += 1
        if self.calls < 8:
            return torch.relu(x)
        if self.out is None:
            self.out = torch.empty_like(x)
        return torch.clamp(x, min=0, out=self.out)
