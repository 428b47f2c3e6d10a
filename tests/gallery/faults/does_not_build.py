"""Does not build.

story: The constructor needs a name that is not there.
kind: mistake
seen: in generated code that forgot an import
workload: linear_relu
ends-as: builds
says: compiled_extension
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.kernel = compiled_extension  # noqa: F821  (the fault)

    def forward(self, x):
        return self.kernel(x, self.linear.weight)
