"""A loss over what counts.

story: Rows with labels to be ignored are taken out first; the rest is a gather and a logarithm of sums.
rejected-by: looking for the library's own operator
workload: label_loss
when: in turn
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        counts = labels != 3
        kept, wanted = logits[counts], labels[counts]
        # Below their largest, so that a row with an infinity becomes NaN as the library's does.
        below = kept - kept.amax(-1, keepdim=True)
        return (below.exp().sum(-1).log() - below.gather(1, wanted[:, None])[:, 0]).mean()
