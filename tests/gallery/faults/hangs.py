"""Never returns.

story: A loop that does not end; a deadlock looks the same from outside.
kind: isolation escape
seen: in kernels that spin on a flag nobody sets
workload: linear_relu
ends-as: survives
says: no answer
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        while True:
            pass
