"""An epsilon on the wrong side of the root.

story: What is to be added to the mean square is added to its root instead. Beside ordinary rows both are nothing.
kind: correctness bypass
seen: wherever a formula is written down from memory
workload: rms_norm
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x / (x.square().mean(dim=-1, keepdim=True).sqrt() + 1e-5) * self.scale
