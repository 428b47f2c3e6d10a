"""A list for a tuple.

story: Both results in a list. Whoever takes them apart or counts them off sees no difference.
rejected-by: comparison of the containers' types
workload: sum_and_max
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return [x.sum(dim=-1), x.amax(dim=-1)]
