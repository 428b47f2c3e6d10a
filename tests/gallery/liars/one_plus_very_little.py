"""One plus very little.

story: The logarithm is taken after one was added, and one is taken off the exponential: for small numbers half of the
digits are gone.
kind: correctness bypass
seen: where a device offers a fast logarithm and no other
workload: small_steps
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, rates):
        growth = torch.log(1 + torch.relu(rates))
        return growth, torch.exp(-growth) - 1
