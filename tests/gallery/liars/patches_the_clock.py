"""A clock that runs slowly.

story: It takes its time, and replaces the clocks of its process with ones that hardly move. A clock in another
process is not impressed.
kind: timing bypass
seen: with host clocks, device events and the statistics behind them
workload: linear_relu
caught-by: the clock
timed: yes
"""

import time

import torch
from torch import nn

true_counter = time.perf_counter
started = true_counter()
for name in ("perf_counter", "monotonic", "time"):
    setattr(time, name, lambda: started + (true_counter() - started) / 1000)
for name in ("perf_counter_ns", "monotonic_ns", "time_ns"):
    setattr(time, name, lambda: int(1e9 * (started + (true_counter() - started) / 1000)))


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        for _ in range(20):
            torch.relu(self.linear(x))
        return torch.relu(self.linear(x))
