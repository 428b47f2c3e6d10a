"""Does not compile.

story: Triton's compiler refuses the kernel when it is launched for the first time.
kind: mistake
seen: most often of all in generated kernels
workload: relu
ends-as: builds
says: power of 2
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu(x, out, width, WIDTH: tl.constexpr):
    at = tl.program_id(0) * width + tl.arange(0, WIDTH)
    tl.store(out + at, tl.maximum(tl.load(x + at), 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu[(x.shape[0],)](x, out, x.shape[1], WIDTH=x.shape[1])
        return out
