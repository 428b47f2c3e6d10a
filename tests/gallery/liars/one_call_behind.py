"""One call behind.

story: A worker thread computes while the caller goes on, and each call hands back what the thread finished: the answer
to the call before.
kind: timing bypass
seen: in pipelines whose first answer is computed in place
workload: softmax_rows
caught-by: matches_reference
"""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = ThreadPoolExecutor(1)
        self.waiting = None

    def forward(self, x):
        before, given = self.waiting, x.clone()
        self.waiting = self.pool.submit(torch.softmax, given, -1)
        return (before or self.waiting).result()
