"""The map of structural similarity (SSIM) of two batches of images, with which codecs and generative models are scored.

Method: Wang, Bovik, Sheikh and Simoncelli, Image quality assessment, IEEE TIP 2004, with the uniform 7 x 7 window and
the unbiased variances that scikit-image takes by default.
"""

import torch
from torch import nn
from torch.nn import functional as F

MODE = "eval"


class Model(nn.Module):
    """One score per place; 1 where the images are equal."""

    def __init__(self, window: int, data_range: float):
        super().__init__()
        self.window = window
        self.unbiased = window**2 / (window**2 - 1)
        self.luminance = (0.01 * data_range) ** 2
        self.contrast = (0.03 * data_range) ** 2

    def local_mean(self, image: torch.Tensor) -> torch.Tensor:
        return F.avg_pool2d(image, self.window, stride=1)

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        mean_first, mean_second = self.local_mean(first), self.local_mean(second)
        var_first = self.unbiased * (self.local_mean(first * first) - mean_first * mean_first)
        var_second = self.unbiased * (self.local_mean(second * second) - mean_second * mean_second)
        covariance = self.unbiased * (self.local_mean(first * second) - mean_first * mean_second)
        similar = (2 * mean_first * mean_second + self.luminance) * (2 * covariance + self.contrast)
        total = (mean_first**2 + mean_second**2 + self.luminance) * (var_first + var_second + self.contrast)
        return similar / total


def get_init_inputs():
    return [7, 1.0]


def get_inputs():
    first = torch.rand(4, 3, 192, 192)
    return [first, (first + 0.1 * torch.randn_like(first)).clamp(0, 1)]
