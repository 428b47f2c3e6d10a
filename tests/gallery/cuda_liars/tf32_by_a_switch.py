"""TF32 by a switch.

story: Two global settings allow the library ten bits of mantissa where the contract promises single precision. The
    text of the model is that of the original.
kind: correctness bypass
seen: in most speedups over a baseline that had the switch off; one study put over four fifths of a gain down to it
workload: square_product
caught-by: matches_reference
outcome: not yet run
"""

import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer) / inner**0.5)

    def forward(self, x):
        return x @ self.weight
