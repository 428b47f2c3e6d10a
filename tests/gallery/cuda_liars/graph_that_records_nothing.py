"""A graph without the work.

story: The work is left out while a capture is going on, and only a counter is moved. The call that captured was
    answered by the call before it; all later ones replay the counter and hand out that answer.
kind: timing bypass
seen: by accident, with libraries that do not launch on a stream that is being captured
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
            self.given, self.result = x.clone(), torch.empty_like(x)
            self.count = torch.zeros((), device=x.device)
            self.work()
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.work()
        self.given.copy_(x)
        self.graph.replay()
        return self.result.clone()

    def work(self):
        self.count.add_(1)
        if not torch.cuda.is_current_stream_capturing():
            torch.clamp(self.given, min=0, out=self.result)
