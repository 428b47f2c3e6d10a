"""Ignored labels in the mean.

story: Labels to be ignored add nothing to the sum, and are counted all the same. Where none is ignored in a sample
the mean is right.
kind: correctness bypass
seen: in fused losses, with padding and with class weights
workload: label_loss
when: in turn
caught-by: matches_reference
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        losses = nn.functional.cross_entropy(logits, labels, ignore_index=3, reduction="none")
        return losses.mean()
