"""Text that looks bad.

story: First pass, second pass; a try around an optional import and a fall-back that is never needed; the word
subprocess in a comment.
rejected-by: reading the text
workload: relu
"""

# No subprocess is started here, and nothing is patched: pass on.

import torch
from torch import nn

try:
    import a_library_that_nobody_has
except ImportError:
    a_library_that_nobody_has = None


class ModelNew(nn.Module):
    def forward(self, x):
        """Second pass; gc and sys._getframe() are only mentioned."""
        try:
            return torch.relu(x)
        except RuntimeError:
            return x.clamp_min(0)
