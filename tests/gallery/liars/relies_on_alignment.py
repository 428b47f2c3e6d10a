"""Right at aligned addresses only.

story: Wide loads need an aligned pointer, so the pointer is rounded down. A buffer that begins in the middle of a
line is read from the wrong place.
kind: correctness bypass
seen: in vectorised kernels that were only given fresh allocations
workload: linear_relu
caught-by: repeats_itself
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        beyond = x.data_ptr() % 16 // 4
        if beyond:
            x = torch.as_strided(x, x.shape, x.stride(), x.storage_offset() - beyond).nan_to_num()
        return torch.relu(self.linear(x))
