"""Hands out the memory of its graph.

story: Inputs are copied in, the graph is replayed, and the tensor that it writes to is what every caller gets. The
    next replay changes all answers that were given before.
kind: correctness bypass
seen: in most first attempts at CUDA graphs
workload: relu
caught-by: aliases_nothing
stood-in: yes
outcome: caught on a stand-in for CUDA; not yet run on a GPU
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.given, self.graph = x.clone(), torch.cuda.CUDAGraph()
            torch.relu(self.given)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.result = torch.relu(self.given)
        self.given.copy_(x)
        self.graph.replay()
        return self.result
