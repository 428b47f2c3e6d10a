"""Dropout is left out.

story: Its result is the mean over all masks, as in eval mode, and costs no random numbers.
kind: correctness bypass
seen: in answers to KernelBench problems with dropout
workload: dropped_features
when: in turn
caught-by: matches_reference
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))
