"""Batches that are not counted.

story: Averages move as they should, and the counter of batches stands still. A layer that averages over all batches
divides by it.
kind: correctness bypass
seen: wherever only floating state is compared
workload: batch_norm
caught-by: updates_state
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        norm = self.norm
        return nn.functional.batch_norm(
            x, norm.running_mean, norm.running_var, norm.weight, norm.bias, True, norm.momentum, norm.eps
        )
