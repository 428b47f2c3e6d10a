"""Works before the clock starts.

story: A thread looks at the memory of all inputs between the rounds and computes whatever is new there. Once the clock
runs, results are handed out that were ready; what was not foreseen is computed eight times over.
kind: timing manipulation
seen: found by trying it on this referee, which wrote the inputs of a round while the candidate ran
workload: linear_relu
caught-by: the clock
timed: yes
"""

import threading
import time

import torch
from torch import nn

UNTIMED_CALLS = 60


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.calls = 0
        self.called_s = 0.0
        self.seen = {}
        self.ready = {}

    def forward(self, x):
        self.calls += 1
        if self.calls <= UNTIMED_CALLS:
            return self.computed(x)
        if not self.seen:
            threading.Thread(target=self.watch, daemon=True).start()
        self.called_s = time.monotonic()
        self.seen[x.data_ptr()] = x
        mark, result = self.ready.pop(x.data_ptr(), (None, None))
        if mark == self.mark(x):
            return result
        return [self.computed(x) for _ in range(8)][0]

    def computed(self, x):
        return torch.relu(self.linear(x))

    def mark(self, x):
        return x.reshape(-1)[:4].tolist()

    def watch(self):
        known = {}
        with torch.no_grad():
            while True:
                time.sleep(0.0005)
                for place, x in list(self.seen.items()):
                    if time.monotonic() < self.called_s + 0.005:
                        break
                    mark = self.mark(x)
                    if known.get(place) != mark:
                        known[place] = mark
                        self.ready[place] = mark, self.computed(x)
