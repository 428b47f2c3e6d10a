"""Momentum from the other side.

story: Running averages keep a tenth of themselves and take nine of the batch. Other libraries count momentum that way.
kind: correctness bypass
seen: in ports between frameworks; outputs in train mode do not show it
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
        norm.num_batches_tracked += 1
        return nn.functional.batch_norm(
            x, norm.running_mean, norm.running_var, norm.weight, norm.bias, True, 1 - norm.momentum, norm.eps
        )
