"""Divides by the length that it knows.

story: The length of a row is written into the kernel, and the workload claims any.
kind: correctness bypass
seen: in kernels whose sizes were copied from the benchmark
workload: rows_of_any_length
when: in turn
caught-by: matches_reference
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x - x.sum(dim=-1, keepdim=True) / 128
