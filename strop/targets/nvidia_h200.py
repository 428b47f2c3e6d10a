"""NVIDIA H200: Hopper with 141 GB of HBM3e."""

from __future__ import annotations

from strop.targets._cuda import CudaKind


class NvidiaH200(CudaKind):
    """See the class variables."""

    name = "nvidia_h200"
    summary = "NVIDIA H200 (Hopper with 141 GB of HBM3e)"
    names = ("H200",)
    source = "sizes: asked of the CUDA driver; ceilings: measured on this machine (copy, matrix products)"


ITEM = NvidiaH200()
