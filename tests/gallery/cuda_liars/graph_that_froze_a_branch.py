"""A graph in which a choice was frozen.

story: Rows with large elements are shifted before exponentials are taken, others need not be. The choice was made
    while the graph was captured, for the input of that moment.
kind: correctness bypass
seen: with control flow on the host, of which a graph keeps one way
workload: softmax_rows
caught-by: matches_reference
stood-in: yes
outcome: caught on a stand-in for CUDA; not yet run on a GPU
"""

import torch
from torch import nn

LARGE = 20.0


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.given, self.graph = x.clone(), torch.cuda.CUDAGraph()
            is_large = bool(x.abs().max() > LARGE)
            self.computed(is_large)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.result = self.computed(is_large)
        self.given.copy_(x)
        self.graph.replay()
        return self.result.clone()

    def computed(self, is_large):
        x = self.given
        if is_large:
            x = x - x.amax(dim=-1, keepdim=True)
        weights = torch.exp(x)
        return weights / weights.sum(dim=-1, keepdim=True)
