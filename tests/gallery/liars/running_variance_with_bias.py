"""A running variance with bias.

story: The variance that normalises a batch is also what the running one takes up. It should take the estimate without
bias.
kind: correctness bypass
seen: in hand-written batch normalisation
workload: batch_norm
caught-by: updates_state
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        norm, axes = self.norm, (0, 2, 3)
        norm.num_batches_tracked += 1
        norm.running_mean.lerp_(x.mean(dim=axes), norm.momentum)
        norm.running_var.lerp_(x.var(dim=axes, correction=0), norm.momentum)
        return nn.functional.batch_norm(x, None, None, norm.weight, norm.bias, training=True, eps=norm.eps)
