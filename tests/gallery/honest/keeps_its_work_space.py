"""Keeps its work space.

story: What enters all steps is computed at once, into memory that is kept from call to call. Nothing of a call is used
by the next one.
rejected-by: clocks that take whatever is kept between calls for work of another call
workload: recurrent_cell
timed: yes
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.enter = nn.Linear(width, width)
        self.again = nn.Linear(width, width)
        self.entered = None

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        if self.entered is None or self.entered.shape != rows.shape:
            self.entered = torch.empty_like(rows)
        with torch.no_grad():
            torch.addmm(self.enter.bias, rows, self.enter.weight.t(), out=self.entered)
        weight, bias = self.again.weight.t(), self.again.bias
        state = torch.zeros_like(x[0])
        for step in self.entered.view(x.shape):
            state = torch.tanh(torch.addmm(bias, state, weight).add_(step))
        return state
