"""Another order of names.

story: The same results under the same names; the one that is ready first is put in first.
rejected-by: comparison of the results in the order in which they come
workload: named_moments
when: in turn
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        mean = x.mean(dim=-1)
        return {"spread": (x - mean[:, None]).abs().mean(dim=-1), "mean": mean}
