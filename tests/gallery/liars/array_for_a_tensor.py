"""An array of another library.

story: The values are right and lie in a numpy array. A comparison that converts both sides is content; code that calls
a tensor's methods is not.
kind: correctness bypass
seen: in checkers that convert everything to numpy
workload: relu
caught-by: keeps_interface
"""

import numpy as np
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return np.maximum(x.numpy(), 0)
