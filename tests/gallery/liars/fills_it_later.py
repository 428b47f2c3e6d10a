"""Filled later.

story: A thread is started and an empty tensor returned at once. By the time a slow checker looks, the thread has done
the work.
kind: timing bypass
seen: with threads, side streams and callbacks
workload: linear_relu
caught-by: matches_reference
"""

import threading
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        out = x.new_zeros(x.shape[0], self.linear.out_features)
        given = x.clone()

        def work():
            time.sleep(0.05)
            with torch.no_grad():
                out.copy_(torch.relu(self.linear(given)))

        threading.Thread(target=work, daemon=True).start()
        return out
