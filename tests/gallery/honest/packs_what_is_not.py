"""Packs what is not.

story: Its kernel reads packed rows alone, so others are copied first.
rejected-by: equal results demanded of views and copies, bit for bit
workload: rows_in_any_layout
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        x = torch.as_strided(x.contiguous(), x.shape, (x.shape[1], 1))
        return x / torch.einsum("rc,rc->r", x, x)[:, None]
