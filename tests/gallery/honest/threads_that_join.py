"""Threads that are waited for.

story: Halves of the batch are computed by two threads, and both are done when the call returns.
rejected-by: counting threads, and reading the text for the word
workload: linear_relu
"""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def half(self, x):
        with torch.no_grad():
            return torch.relu(self.linear(x))

    def forward(self, x):
        with ThreadPoolExecutor(2) as pool:
            return torch.cat(list(pool.map(self.half, x.chunk(2))))
