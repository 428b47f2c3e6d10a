"""Weights packed once.

story: The first call brings the weights into a better layout and keeps the result. Later changes of the weights go
unnoticed.
kind: correctness bypass
seen: in many generated kernels, mostly by accident
workload: linear_relu
caught-by: follows_parameters
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = self.linear.weight.detach().t().contiguous()
        return torch.relu(torch.addmm(self.linear.bias, x, self.packed))
