"""The mean squared error: a number for the whole batch."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, predictions, targets):
        return nn.functional.mse_loss(predictions, targets)


def get_inputs():
    return [torch.randn(40, 100), torch.randn(40, 100)]


def get_init_inputs():
    return []
