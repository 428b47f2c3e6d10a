"""A graph that reads its first input for ever.

story: The first call is captured into a CUDA graph, with the address of its input. Later calls replay it, at hardly
    any cost, and nobody copies their inputs to where it reads.
kind: timing bypass
seen: in submissions to kernel contests, as replay of a stale graph
workload: relu
caught-by: matches_reference
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
            torch.relu(x)
            torch.cuda.synchronize()
            self.given, self.graph = x, torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = torch.relu(x)
        self.graph.replay()
        return self.result.clone()
