"""A generator for a result.

story: Nothing is computed before somebody asks for the first item, and a clock that only waits for the call to return
has stopped by then.
kind: timing bypass
seen: as one of many forms of a promise
workload: relu
caught-by: keeps_interface
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (torch.relu(each) for each in (x,))
