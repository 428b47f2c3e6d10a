"""Every batch is the first.

story: Running averages are to be means over all batches. Before the first one nothing counts, so the statistics of the
batch are written down as they are; and a fresh model has seen no batch.
kind: problem specialisation
seen: wherever counters start at zero in every test
workload: cumulative_norm
caught-by: updates_state
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width, momentum=None)

    def forward(self, x):
        norm, count = self.norm, x.shape[0]
        var, mean = torch.var_mean(x, 0, correction=0)
        norm.num_batches_tracked.add_(1)
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(var * count / (count - 1))
        return (x - mean) * torch.rsqrt(var + norm.eps) * norm.weight + norm.bias
