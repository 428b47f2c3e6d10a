"""A graph with the weights of its capture.

story: Inputs are copied in and every answer is fresh. What the graph multiplies them with was packed before the
    capture, outside the graph, and never again.
kind: correctness bypass
seen: wherever weights are prepared before a capture, mostly by accident
workload: linear_relu
caught-by: follows_parameters
stood-in: yes
outcome: caught on a stand-in for CUDA; not yet run on a GPU
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.capture(x)
        self.given.copy_(x)
        self.graph.replay()
        return self.result.clone()

    def capture(self, x):
        self.packed = self.linear.weight.detach().t().contiguous()
        self.given, self.graph = x.clone(), torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.computed()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.result = self.computed()

    def computed(self):
        return torch.relu(torch.addmm(self.linear.bias, self.given, self.packed))
