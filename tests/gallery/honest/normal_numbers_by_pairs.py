"""Normal numbers by pairs.

story: Box and Muller make two normal numbers of two uniform ones.
rejected-by: comparison call by call, and of masks under one seed
workload: noisy_rows
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        half = x[:, ::2]
        size = (-2 * (1 - torch.rand_like(half)).log()).sqrt()
        angle = 2 * torch.pi * torch.rand_like(half)
        noise = torch.cat((size * angle.cos(), size * angle.sin()), dim=1)
        return torch.softmax(x, dim=-1) + 0.05 * noise
