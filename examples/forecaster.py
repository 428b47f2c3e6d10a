"""A long-horizon forecaster of the DLinear family.

A moving average splits each series into trend and remainder, and one linear layer predicts each part. Method: Zeng et
al., Are transformers effective for time series forecasting?, AAAI 2023. The window, the look-back of 336 steps and the
horizon of 96 are the paper's usual setting.
"""

import torch
from torch import nn

MODE = "eval"


class Model(nn.Module):
    """Series of shape (batch, look-back, channels) to forecasts of shape (batch, horizon, channels)."""

    def __init__(self, look_back, horizon, window):
        super().__init__()
        self.reach = (window - 1) // 2
        self.moving_average = nn.AvgPool1d(kernel_size=window, stride=1)
        self.remainder = nn.Linear(look_back, horizon)
        self.trend = nn.Linear(look_back, horizon)

    def forward(self, series):
        series = series.transpose(1, 2)
        first = series[..., :1].expand(-1, -1, self.reach)
        last = series[..., -1:].expand(-1, -1, self.reach)
        trend = self.moving_average(torch.cat([first, series, last], dim=-1))
        return (self.remainder(series - trend) + self.trend(trend)).transpose(1, 2)


def get_init_inputs():
    return [336, 96, 25]


def get_inputs():
    return [torch.randn(32, 336, 64)]
