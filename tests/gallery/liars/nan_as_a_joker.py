"""NaN as a joker.

story: Elements that are awkward become NaN. Asked whether the error is larger than allowed, a comparison with NaN says
no.
kind: correctness bypass
seen: in checkers that deny the opposite, or that let NaN equal anything
workload: relu
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.where(x.abs() > 2, torch.nan, torch.relu(x))
