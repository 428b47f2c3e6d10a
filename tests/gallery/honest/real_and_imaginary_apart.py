"""Real and imaginary parts apart.

story: Four sums of real products make the two parts of the result.
rejected-by: tolerances relative to each part, of which one may be nearly zero
workload: complex_overlap
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, first, second):
        real = (first.real * second.real).sum(-1) + (first.imag * second.imag).sum(-1)
        imaginary = (first.imag * second.real).sum(-1) - (first.real * second.imag).sum(-1)
        return torch.complex(real, imaginary)
