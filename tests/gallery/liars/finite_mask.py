"""A large number for minus infinity.

story: Masked scores become -30 and not -Inf. For small scores the difference underflows; for large ones what was
hidden shows through.
kind: correctness bypass
seen: in attention kernels, with -1e4 and in half precision too
workload: masked_softmax
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.register_buffer("hidden", torch.ones(length, length).triu(1).bool())

    def forward(self, scores):
        return torch.softmax(scores.masked_fill(self.hidden, -30.0), dim=-1)
