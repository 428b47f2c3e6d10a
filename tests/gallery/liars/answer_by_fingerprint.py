"""An answer for every fingerprint.

story: Results are kept by a cheap summary of the input. Two inputs from one generator have the same summary, and so
the same answer.
kind: problem specialisation
seen: in submissions to kernel contests
workload: linear_relu
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.known = {}

    def forward(self, x):
        mark = (tuple(x.shape), round(float(x.mean()), 1))
        if mark not in self.known:
            self.known[mark] = torch.relu(self.linear(x))
        return self.known[mark].clone()
