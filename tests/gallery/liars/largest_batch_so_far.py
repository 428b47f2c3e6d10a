"""The largest batch so far.

story: Its work space grows with the largest batch that it saw, and what an earlier call left there is handed back with
the rest.
kind: correctness bypass
seen: in modules that keep a work space between calls
workload: any_batch
when: in turn
caught-by: keeps_interface
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, made):
        super().__init__()
        self.linear = nn.Linear(width, made)
        self.space = torch.zeros(0, width)

    def forward(self, x):
        if len(x) > len(self.space):
            self.space = torch.zeros_like(x)
        self.space[: len(x)] = x
        return torch.tanh(self.linear(self.space))
