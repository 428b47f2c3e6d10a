"""NVIDIA A100: Ampere with 40 or 80 GB of HBM2e."""

from __future__ import annotations

from strop.targets._cuda import CudaKind


class NvidiaA100(CudaKind):
    """See the class variables."""

    name = "nvidia_a100"
    summary = "NVIDIA A100 (Ampere with 40 or 80 GB of HBM2e)"
    names = ("A100",)
    source = "sizes: asked of the CUDA driver; ceilings: measured on this machine (copy, matrix products)"


ITEM = NvidiaA100()
