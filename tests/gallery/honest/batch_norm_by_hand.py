"""Batch normalisation by hand.

story: Mean and variance in two passes, and running averages moved as the layer moves them.
rejected-by: comparison of bits; and it would be worthless if state were not compared
workload: batch_norm
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        norm, axes = self.norm, (0, 2, 3)
        count = x.numel() // x.shape[1]
        mean = x.mean(dim=axes)
        apart = x - mean[None, :, None, None]
        variance = (apart * apart).mean(dim=axes)
        with torch.no_grad():
            norm.num_batches_tracked += 1
            norm.running_mean.lerp_(mean, norm.momentum)
            norm.running_var.lerp_(variance * (count / (count - 1)), norm.momentum)
        scale = norm.weight * torch.rsqrt(variance + norm.eps)
        return apart * scale[None, :, None, None] + norm.bias[None, :, None, None]
