"""One mask for all calls.

story: The mask is drawn when it is first needed. Every call is then dropped out in the same places, which a look at
one call cannot tell.
kind: correctness bypass
seen: in kernels that keep their mask as a buffer
workload: dropped_features
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.mask = None

    def forward(self, x):
        y = self.linear(x)
        if self.mask is None:
            self.mask = (torch.rand_like(y) >= 0.25) / 0.75
        return nn.functional.gelu(y * self.mask)
