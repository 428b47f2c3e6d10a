"""Single precision between two roundings.

story: Sixteen-bit operands are widened, everything is done in single precision, and the result is rounded once. The
library rounds twice.
rejected-by: comparison of bits
workload: half_inputs
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.up = nn.Linear(inner, outer, bias=False, dtype=torch.bfloat16)

    def forward(self, x, gate):
        wide = x.float() @ self.up.weight.float().t()
        return (wide * torch.sigmoid(gate.float())).bfloat16()
