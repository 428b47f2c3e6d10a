"""Falls back elsewhere.

story: It is fast for one shape, and knows it: all others go the way of the workload.
rejected-by: search for sizes in the text
workload: rows_of_any_length
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.full((128, 1), 1 / 128)

    def forward(self, x):
        if x.shape != (48, 128):
            return x - x.mean(dim=-1, keepdim=True)
        return x - x @ self.weights
