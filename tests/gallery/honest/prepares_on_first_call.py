"""Set-up on the first call.

story: Work space is made when the first shapes are known, and written again in full on every call. What is returned
is a tensor of its own.
rejected-by: short time limits for a single call, and any suspicion of caching
workload: linear_relu
"""

import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.space = None

    def forward(self, x):
        if self.space is None or self.space.shape[0] != x.shape[0]:
            time.sleep(0.5)
            self.space = x.new_empty(x.shape[0], self.linear.out_features)
        torch.mm(x, self.linear.weight.t(), out=self.space)
        return torch.relu(self.space + self.linear.bias)
