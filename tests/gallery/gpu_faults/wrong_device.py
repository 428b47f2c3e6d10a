"""Leaves its result on the host.

story: The right values, in the wrong memory: whoever calls it has to bring them back.
kind: mistake
seen: where a result was moved to be printed, and in fall-backs to NumPy
workload: relu
ends-as: keeps_interface
says: device is cpu
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).cpu()
