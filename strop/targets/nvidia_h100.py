"""NVIDIA H100: Hopper with 80 GB of HBM."""

from __future__ import annotations

from strop.targets._cuda import CudaKind


class NvidiaH100(CudaKind):
    """See the class variables."""

    name = "nvidia_h100"
    summary = "NVIDIA H100 (Hopper with 80 GB of HBM)"
    names = ("H100",)
    source = "sizes: asked of the CUDA driver; ceilings: measured on this machine (copy, matrix products)"


ITEM = NvidiaH100()
