"""Another library does the work.

story: The product is numpy's.
rejected-by: rules on which library may be called
workload: linear_relu
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        product = x.numpy() @ self.linear.weight.detach().numpy().T
        return torch.relu(torch.from_numpy(product) + self.linear.bias)
