"""Overlaps of complex signals: the second one is conjugated."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, first, second):
        return (first * second.conj()).sum(dim=-1)


def get_inputs():
    return [torch.randn(60, 64, dtype=torch.complex64), torch.randn(60, 64, dtype=torch.complex64)]


def get_init_inputs():
    return []
