"""A loss over what counts.

story: Rows with labels to be ignored are taken out first; the rest is a gather and a logarithm of sums.
rejected-by: looking for the library's own operator
workload: label_loss
when: in turn
scope: any
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        counts = labels != 3
        kept, wanted = logits[counts], labels[counts]
        return (torch.logsumexp(kept, dim=-1) - kept.gather(1, wanted[:, None])[:, 0]).mean()
