"""Ends its process while it is loaded.

story: The same, before anything was asked.
kind: isolation escape
seen: in scripts that were meant to be run and not imported
workload: linear_relu
ends-as: builds
says: exit
"""

import os

from torch import nn

os._exit(0)


class ModelNew(nn.Linear):
    pass
