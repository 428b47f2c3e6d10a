"""Says that it is done before it is, once it is timed.

story: While values are judged it is honest. Once it is timed every wait for the device in its process returns at
    once, so that a round ends when its kernels have been ordered, and the device works on in the time of others.
kind: timing bypass
seen: found by reading this referee, whose child waits for the device in the process that the candidate shares
workload: relu
caught-by: answers_on_the_clock
timed: yes
outcome: not yet run
"""

import torch
from torch import nn

UNTIMED_CALLS = 60
DELAY_CYCLES = 1_000_000


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > UNTIMED_CALLS:
            torch._C._cuda_synchronize = lambda: None
            torch.cuda._sleep(DELAY_CYCLES)
        return torch.relu(x)
