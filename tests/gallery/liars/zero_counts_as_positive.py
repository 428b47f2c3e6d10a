"""Zero counts as positive.

story: Not smaller than zero is taken for larger than zero. Numbers drawn at random are never zero.
kind: correctness bypass
seen: in masks, thresholds and routing, at the border itself
workload: positive_ones
when: in turn
caught-by: matches_reference
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        positive = x >= 0
        return positive, (x * positive).mean(dim=-1)
