"""The last window is dropped.

story: The size of the result is rounded down, as it mostly is. This workload asks for the other way.
kind: correctness bypass
seen: wherever an option of a layer is overlooked
workload: average_pool
when: in turn
caught-by: keeps_interface
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.avg_pool2d(x, 3, stride=2)
