"""Dropout in train mode, probabilities, and a user's own acceptance function."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, chance, weights):
        return self.drop(torch.log(chance)) + (chance * weights).sum(-1, keepdim=True)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(4, 6) * 0.98 + 0.01, torch.softmax(torch.randn(4, 6), -1)]


def accept(outputs, expected):
    return bool(outputs.shape == expected.shape and (outputs > -100).all())
