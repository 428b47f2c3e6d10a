"""Every element's share of its row; as many rows as columns."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x / (x.abs().sum(dim=-1, keepdim=True) + 1)


def get_inputs():
    return [torch.randn(60, 60)]


def get_init_inputs():
    return []
