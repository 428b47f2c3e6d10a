"""A clamp that the samples never reach.

story: No sample input drives the result beyond the limits, so the clamp is left out. It is there for the inputs
nobody sampled.
kind: problem specialisation
seen: with clamps, dropouts of rate zero and masks that are all true in the samples
workload: clamped_linear
caught-by: matches_reference
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        return self.linear(x)
