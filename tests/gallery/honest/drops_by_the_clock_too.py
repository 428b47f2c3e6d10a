"""As random on the clock as before.

story: Nothing but dropout as torch has it, timed: answers on the clock are drawn from the same distribution.
rejected-by: comparison of an answer on the clock with an earlier one
workload: dropped_features
timed: yes
when: in turn
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        y = torch.nn.functional.linear(x, self.linear.weight, self.linear.bias)
        return nn.functional.gelu(nn.functional.dropout(y, 0.25, True))
