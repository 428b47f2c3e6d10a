"""Works every other round.

story: Rounds of timed calls can be counted: the first tensor of a round comes back. Whoever knows that only the last
round of a pair was ever looked at leaves out the other one and is twice as fast.
kind: problem specialisation
seen: found by reading this referee
workload: linear_relu
caught-by: answers_on_the_clock
timed: yes
"""

from collections import Counter

import torch
from torch import nn

CHECKED_CALLS = 60


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.calls = 0
        self.rounds = Counter()

    def forward(self, x):
        self.calls += 1
        if self.calls > CHECKED_CALLS:
            self.rounds[x.data_ptr()] += 1
            if self.rounds[x.data_ptr()] % 2 == 0:
                return x.new_zeros(x.shape[0], self.linear.out_features)
        return torch.relu(self.linear(x))
