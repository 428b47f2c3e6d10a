"""Scales of one and shifts of zero.

story: A fresh normalisation layer scales by one and shifts by zero, so both are left out. A trained one does neither.
kind: problem specialisation
seen: wherever parameters keep their first values
workload: layer_norm
caught-by: follows_parameters
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return nn.functional.layer_norm(x, (x.shape[-1],), eps=self.norm.eps)
