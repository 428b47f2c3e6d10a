"""The wrong axis.

story: Targets are spread over columns and not over rows. On independent samples the mean comes out nearly the same
either way.
kind: correctness bypass
seen: in an accepted answer to a loss problem, where it passed every hidden distribution
workload: hinge
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return torch.clamp(1 - predictions * targets[:, None], min=0).mean()
