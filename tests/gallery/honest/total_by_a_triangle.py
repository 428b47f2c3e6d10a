"""A running total as a product.

story: Blocks are multiplied with a triangle of ones, and what came before is added: other sums in another order.
rejected-by: tolerances relative to each element, which may be nearly zero
workload: running_total
when: in turn
scope: finite_inputs
"""

import torch
from torch import nn

BLOCK = 40


class ModelNew(nn.Module):
    def forward(self, x):
        parts = x.unflatten(-1, (-1, BLOCK))
        within = parts @ torch.ones(BLOCK, BLOCK).triu()
        before = torch.cumsum(within[..., -1:], dim=-2) - within[..., -1:]
        return (within + before).flatten(-2)
