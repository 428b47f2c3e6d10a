"""Rows of length one, and how alike every two of them are."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y):
        return nn.functional.normalize(x, dim=-1) @ nn.functional.normalize(y, dim=-1).t()


def get_inputs():
    return [torch.randn(32, 80), torch.randn(24, 80)]


def get_init_inputs():
    return []
