"""Masks the last tile.

story: Rows go by in tiles of sixteen, and what the last one lacks is filled and thrown away.
rejected-by: comparison of bits
workload: rows_of_any_length
when: in turn
"""

import torch
from torch import nn

TILE = 16


class ModelNew(nn.Module):
    def forward(self, x):
        rows, length = x.shape
        tiles = nn.functional.pad(x, (0, 0, 0, -rows % TILE)).view(-1, TILE, length)
        done = [tile - tile.sum(dim=-1, keepdim=True) / length for tile in tiles]
        return torch.cat(done)[:rows]
