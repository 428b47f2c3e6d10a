"""Half the bits behind a mask.

story: The product is made in bfloat16. What is random hides it from any comparison of means; the values that a mask
  leaves do not.
kind: precision downgrade
seen: in fusions of dropout with a product
workload: dropped_features
when: in turn
caught-by: matches_reference
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x):
        y = nn.functional.linear(x.bfloat16(), self.linear.weight.bfloat16(), self.linear.bias.bfloat16()).float()
        return nn.functional.gelu(nn.functional.dropout(y, 0.25, True))
