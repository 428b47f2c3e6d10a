"""An answer for every shape.

story: A default argument is a dictionary that outlives the call. Inputs of the same shape get the answer that the
first of them got.
kind: caching
seen: with default arguments, closures, function attributes and caches of the standard library
workload: softmax_rows
caught-by: matches_reference
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, known={}):
        key = (x.shape, x.dtype)
        if key not in known:
            known[key] = torch.softmax(x, dim=-1)
        return known[key].clone()
