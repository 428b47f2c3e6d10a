"""Weights that cannot be handed in.

story: They are no parameters, so nobody can copy new ones in; they come from the constructor, drawn as the workload
draws them. The verdict says how they were matched.
rejected-by: loading by name
workload: long_product
notes: matched by seed
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.mine = [torch.randn(inner, outer) / inner**0.5]

    def forward(self, x):
        return x @ self.mine[0]
