"""The first answer for ever.

story: One honest computation, a fresh copy of it for every later input. Wherever an output hardly depends on the
inputs this is hard to see.
kind: problem specialisation
seen: in audits of benchmark suites, where it passes for about one problem in ten
workload: linear_relu
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.answer = None

    def forward(self, x):
        if self.answer is None:
            self.answer = torch.relu(self.linear(x))
        return self.answer.clone()
