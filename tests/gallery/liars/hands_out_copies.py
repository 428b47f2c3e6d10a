"""Hands out copies of its parameters.

story: Whoever asks the module for its parameters is given copies. New values are copied into those, and the module
goes on with its own.
kind: correctness bypass
seen: as a way to freeze weights that looks like a registered parameter
workload: linear_relu
caught-by: follows_parameters
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.shown = {}

    def named_parameters(self, *args, **kwargs):
        for name, each in super().named_parameters(*args, **kwargs):
            yield name, self.shown.setdefault(name, nn.Parameter(each.detach().clone()))

    def forward(self, x):
        return torch.relu(self.linear(x))
