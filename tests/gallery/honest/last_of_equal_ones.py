"""Another of several equal elements.

story: Of equal largest values it names the last one, the workload names the first. Both are where the largest value
stands.
rejected-by: comparison of indices
workload: argmax_rows
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        last = x.shape[-1] - 1
        return last - torch.argmax(x.flip(-1), dim=-1), x.sum(dim=-1) / x.shape[-1]
