"""Sparse where dense is due.

story: Half of a ReLU's results are zero, so only the others are kept. Whoever goes on with a dense tensor has to
unpack it first, and pays for that.
kind: correctness bypass
seen: in checkers that make both sides dense before they compare
workload: relu
caught-by: survives
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).to_sparse()
