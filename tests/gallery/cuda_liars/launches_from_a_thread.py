"""Launches its kernels later, from a thread.

story: The call only puts an order into a queue. A thread takes it out after a while and launches the work, when
    whoever waited for the device has found nothing to wait for.
kind: timing bypass
seen: as the form of a side stream that waiting for the whole device does not see either
workload: linear_relu
caught-by: matches_reference
outcome: not yet run
"""

import queue
import threading
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.orders = None

    def forward(self, x):
        if self.orders is None:
            self.orders = queue.SimpleQueue()
            threading.Thread(target=self.work, daemon=True).start()
        out = x.new_zeros(x.shape[0], self.linear.out_features)
        self.orders.put((x.clone(), out))
        return out

    @torch.no_grad()
    def work(self):
        side = torch.cuda.Stream()
        while True:
            given, out = self.orders.get()
            time.sleep(0.05)
            with torch.cuda.stream(side):
                out.copy_(torch.relu(self.linear(given)))
