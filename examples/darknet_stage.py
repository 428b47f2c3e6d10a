"""A stage of the CSPDarknet53 backbone of YOLOv4: residual blocks of convolution, batch norm and Mish, in inference.

Bochkovskiy, Wang and Liao, YOLOv4, 2020. KernelBench convention: Model, get_init_inputs, get_inputs.
"""

import torch
from torch import nn
from torch.nn import functional as F

MODE = "eval"


class ConvMish(nn.Module):
    """Convolution without bias, batch norm, Mish."""

    def __init__(self, channels: int, features: int, kernel: int, stride: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.mish(self.norm(self.conv(x)))


class Model(nn.Module):
    """A cross-stage partial stage: two branches, one of them residual, joined by a 1 x 1 convolution."""

    def __init__(self, channels: int, blocks: int):
        super().__init__()
        half = channels // 2
        self.down = ConvMish(half, channels, 3, stride=2)
        self.short = ConvMish(channels, half, 1)
        self.enter = ConvMish(channels, half, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(ConvMish(half, half, 1), ConvMish(half, half, 3)) for _ in range(blocks)
        )
        self.leave = ConvMish(half, half, 1)
        self.join = ConvMish(channels, channels, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.down(image)
        y = self.enter(x)
        for block in self.blocks:
            y = y + block(y)
        return self.join(torch.cat([self.leave(y), self.short(x)], dim=1))


def get_init_inputs():
    return [64, 2]


def get_inputs():
    return [torch.randn(2, 32, 128, 128)]
