"""No scales and no shifts at all.

story: A fresh normalisation layer scales by one and shifts by zero, so it has no parameters to begin with. Nobody can
hand it others, and a referee that for this reason tries no others finds nothing wrong.
kind: problem specialisation
seen: found by reading this referee, which redrew no parameter where one had no counterpart
workload: layer_norm
caught-by: follows_parameters
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shape = (width,)

    def forward(self, x):
        return nn.functional.layer_norm(x, self.shape)
