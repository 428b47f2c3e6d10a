"""Sees its weights through a view.

story: A transposed view of the weights is made once. It shares their memory, so whatever is copied into them is seen.
rejected-by: any suspicion of packed weights
workload: linear_relu
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.across = self.linear.weight.detach().t()

    def forward(self, x):
        return torch.relu(torch.addmm(self.linear.bias, x, self.across))
