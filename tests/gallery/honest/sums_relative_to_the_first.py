"""Exponentials relative to a running maximum.

story: Blocks are summed relative to the largest element so far, and the sum is rescaled when a larger one comes.
rejected-by: comparison of bits
workload: log_sum_exp
when: in turn
scope: finite_inputs
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        top, total = x[:, 0].clone(), torch.zeros(x.shape[0])
        for part in x.split(16, dim=-1):
            higher = torch.maximum(top, part.amax(dim=-1))
            total = total * torch.exp(top - higher) + torch.exp(part - higher[:, None]).sum(dim=-1)
            top = higher
        return top + torch.log(total)
