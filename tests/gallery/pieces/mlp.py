"""Three fully connected layers with GELU between them."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, 2 * width),
            nn.GELU(),
            nn.Linear(2 * width, 2 * width),
            nn.GELU(),
            nn.Linear(2 * width, width),
        )

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(24, 64)]


def get_init_inputs():
    return [64]
