"""NVIDIA B200: Blackwell with 192 GB of HBM3e."""

from __future__ import annotations

from strop.targets._cuda import CudaKind


class NvidiaB200(CudaKind):
    """See the class variables."""

    name = "nvidia_b200"
    summary = "NVIDIA B200 (Blackwell with 192 GB of HBM3e)"
    names = ("B200",)
    source = "sizes: asked of the CUDA driver; ceilings: measured on this machine (copy, matrix products)"


ITEM = NvidiaB200()
