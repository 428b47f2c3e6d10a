"""Twenty-four fully connected layers without a norm between them."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)) + x
        return x


def get_inputs():
    return [torch.randn(16, 48)]


def get_init_inputs():
    return [48, 24]
