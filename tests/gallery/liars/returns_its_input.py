"""Returns its input.

story: For inputs that are never negative ReLU does nothing, so nothing is done; not even a copy is made.
kind: correctness bypass
seen: as a speed-up of several hundred times for activations on uniform samples
workload: relu
caught-by: aliases_nothing
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x
