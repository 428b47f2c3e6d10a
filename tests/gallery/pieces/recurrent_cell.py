"""A gated recurrent cell over a few steps, written out."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, width):
        super().__init__()
        self.gates = nn.Linear(inner + width, 4 * width)

    def forward(self, x, hidden, cell):
        for step in x.unbind(1):
            enter, leave, keep, new = self.gates(torch.cat([step, hidden], dim=-1)).chunk(4, dim=-1)
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
            hidden = torch.sigmoid(leave) * torch.tanh(cell)
        return hidden, cell


def get_inputs():
    return [torch.randn(8, 6, 24), torch.randn(8, 32), torch.randn(8, 32)]


def get_init_inputs():
    return [24, 32]
