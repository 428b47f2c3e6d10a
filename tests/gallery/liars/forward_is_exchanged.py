"""The method is exchanged.

story: After two calls, as many as a warm-up takes, the instance gets another method of the same name.
kind: problem specialisation
seen: with bound methods, compiled functions and graphs that replace what was checked
workload: relu
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 2:
            self.forward = lambda given: torch.relu(given[:1]).expand(given.shape).clone()
        return torch.relu(x)
