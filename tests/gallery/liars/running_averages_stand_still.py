"""Running averages that stand still.

story: The outputs in train mode need batch statistics only, so the update of the running ones is left out. Evaluation
later uses stale averages.
kind: correctness bypass
seen: wherever side effects on the module are not compared
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
        return nn.functional.batch_norm(x, None, None, norm.weight, norm.bias, training=True, eps=norm.eps)
