"""A cache moved another way.

story: The caller's cache is shifted and written in place, one slot at a time.
rejected-by: any change of an argument
workload: rolling_cache
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)

    def forward(self, x, cache):
        for slot in range(cache.shape[1] - 1):
            cache[:, slot] = cache[:, slot + 1]
        cache[:, -1] = self.key(x)
        scores = torch.softmax((cache @ self.query(x)[:, :, None])[:, :, 0] / x.shape[-1] ** 0.5, dim=-1)
        return (scores[:, None] @ cache)[:, 0]
