"""Two streams add to the same sums.

story: Either half of every row is summed on a stream of its own. One puts its sums down, the other adds to what lies
    there; which comes first is left to chance, and both are waited for.
kind: mistake
seen: where a reduction was spread over streams by hand
workload: long_sums
caught-by: matches_reference
outcome: not yet run
"""

import torch
from torch import nn

DELAY_CYCLES = 100_000_000


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.cuda.Stream(), torch.cuda.Stream()

    def forward(self, x):
        left, right = x.chunk(2, dim=-1)
        out = x.new_zeros(x.shape[0])
        now = torch.cuda.current_stream()
        self.one.wait_stream(now)
        self.two.wait_stream(now)
        with torch.cuda.stream(self.one):
            torch.cuda._sleep(DELAY_CYCLES)
            torch.sum(left, dim=-1, out=out)
        with torch.cuda.stream(self.two):
            out.add_(right.sum(dim=-1))
        now.wait_stream(self.one)
        now.wait_stream(self.two)
        return out
