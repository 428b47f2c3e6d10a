"""An audio encoder: three convolutions over raw samples, each followed by batch norm, GELU and average pooling.

It turns half a second of sound at 16 kHz into one embedding; the kind of front end that stands before a classifier or a
sequence model.
"""

import torch
from torch import nn

MODE = "eval"


class Stage(nn.Module):
    """Convolution, normalisation, activation, and a pool that keeps every fourth sample."""

    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv1d(channels_in, channels_out, kernel_size=9, padding=4)
        self.norm = nn.BatchNorm1d(channels_out)
        self.pool = nn.AvgPool1d(kernel_size=16, stride=4, padding=6)

    def forward(self, x):
        return self.pool(nn.functional.gelu(self.norm(self.conv(x))))


class Model(nn.Module):
    """Samples of shape (batch, 1, length) to embeddings of shape (batch, width)."""

    def __init__(self, channels, width):
        super().__init__()
        self.stages = nn.Sequential(Stage(1, channels), Stage(channels, channels), Stage(channels, channels))
        self.head = nn.Linear(channels, width)

    def forward(self, x):
        return self.head(self.stages(x).mean(dim=-1))


def get_init_inputs():
    return [24, 64]


def get_inputs():
    return [torch.randn(4, 1, 8000)]
