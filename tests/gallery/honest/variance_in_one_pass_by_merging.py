"""A variance in one pass.

story: Mean and squared distances are kept per block and merged, as Chan, Golub and LeVeque do; nothing cancels.
rejected-by: distrust of whatever reads its input once, and bounds of zero where rows are constant
workload: spread
when: in turn
"""

from torch import nn

BLOCK = 16


class ModelNew(nn.Module):
    def forward(self, x):
        count, mean, apart = 0, 0.0, 0.0
        for part in x.split(BLOCK, dim=-1):
            size = part.shape[-1]
            here = part.mean(dim=-1)
            shift = here - mean
            total = count + size
            apart = apart + (part - here[:, None]).square().sum(dim=-1) + shift * shift * (count * size / total)
            mean, count = mean + shift * (size / total), total
        return apart / (count - 1)
