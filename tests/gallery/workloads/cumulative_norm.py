"""Batch normalisation whose running averages are means over all batches so far."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width, momentum=None)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(64, 32)]


def get_init_inputs():
    return [32]
