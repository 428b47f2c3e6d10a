"""Writes where the harness keeps results, and hands nothing back.

story: It finds the places of the results in its caller's frame. Nobody has to copy then, and what a copy costs is
subtracted all the same.
kind: timing bypass
seen: found by reading this referee
workload: linear_relu
caught-by: survives
timed: yes
"""

import sys

import torch
from torch import nn

UNTIMED_CALLS = 60


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        frame = sys._getframe() if self.calls > UNTIMED_CALLS else None
        while frame is not None:
            caller = frame.f_locals.get("self")
            if type(caller).__name__ == "Round":
                (place,) = caller._places[frame.f_locals["slot"]].values()
                torch.clamp_min(self.linear(x), 0.0, out=place)
                return None
            frame = frame.f_back
        return torch.relu(self.linear(x))
