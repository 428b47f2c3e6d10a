"""A carry that gets lost.

story: Every block of a row is summed on its own, and what the blocks before it came to is added to one block only.
kind: correctness bypass
seen: in scans over rows that are longer than a block
workload: running_total
when: in turn
caught-by: matches_reference
"""

import torch
from torch import nn

BLOCK = 64


class ModelNew(nn.Module):
    def forward(self, x):
        parts = [part.cumsum(dim=-1) for part in x.split(BLOCK, dim=-1)]
        carried = [parts[0], *(part + before[:, -1:] for before, part in zip(parts, parts[1:], strict=False))]
        return torch.cat(carried, dim=-1)
