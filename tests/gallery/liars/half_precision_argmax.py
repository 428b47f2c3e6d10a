"""An argmax in half precision.

story: Values that differ in their last bits become equal, and the first of them wins. Index outputs compared with a
tolerance let it pass.
kind: correctness bypass
seen: in selection kernels, and wherever indices are compared like numbers
workload: argmax_rows
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.argmax(x.bfloat16(), dim=-1), x.mean(dim=-1)
