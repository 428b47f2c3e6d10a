"""A mask without infinities.

story: Hidden scores are left out of maximum and sum, and their probabilities set to zero; no -Inf is ever formed.
rejected-by: looking for the same intermediate values
workload: masked_softmax
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.register_buffer("hidden", torch.ones(length, length).triu(1).bool())

    def forward(self, scores):
        lowest = torch.finfo(scores.dtype).min
        shown = scores.masked_fill(self.hidden, lowest)
        powers = torch.exp(shown - shown.amax(dim=-1, keepdim=True)).masked_fill(self.hidden, 0.0)
        return powers / powers.sum(dim=-1, keepdim=True)
