"""Work space from a pool.

story: Buffers for intermediate values are taken from a pool that all instances and threads share, and put back; what
is returned never comes from it.
rejected-by: a look for state in the module's globals
workload: linear_relu
"""

import threading

import torch
from torch import nn

pool = []
lock = threading.Lock()


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        with lock:
            space = pool.pop() if pool else torch.empty(x.shape[0], self.linear.out_features)
        torch.addmm(self.linear.bias, x, self.linear.weight.t(), out=space)
        answer = torch.relu(space)
        with lock:
            pool.append(space)
        return answer
