"""Keyword and plain arguments, a dataclass result, a strided and an expanded input."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Result:
    total: torch.Tensor
    parts: dict[str, torch.Tensor]
    count: int
    nothing: None = None


class Model(nn.Module):
    def __init__(self, width, *, bias):
        super().__init__()
        self.layer = nn.Linear(width, width, bias=bias)

    def forward(self, x, pair, *, mask, scale=1.0, flag=False):
        y = self.layer(x.t()) * scale + pair["a"] if flag else x.t() * scale
        return Result(total=y.sum(0), parts={"masked": torch.where(mask, y, -1.0), "b": pair["b"] * 2}, count=3)


def get_init_inputs():
    return [[4], {"bias": False}]


def get_inputs():
    strided = torch.randn(4, 6)
    wide = torch.randn(1, 4).expand(6, 4)
    mask = torch.rand(6, 4) < 0.5
    return [
        [strided.t().contiguous().t(), {"a": wide, "b": torch.randn(3)}],
        {"mask": mask, "scale": 2.5, "flag": True},
    ]
