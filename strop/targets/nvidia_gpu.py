"""Any other GPU of NVIDIA's that torch can use: everything about it is asked of the driver or measured."""

from __future__ import annotations

from strop.targets._cuda import CudaKind
from strop.targets._cuda_driver import Device

SMALLEST_CAPABILITY = (7, 0)
"""Older devices are not compiled for: Triton needs Volta."""


class NvidiaGpu(CudaKind):
    """See the class variables."""

    name = "nvidia_gpu"
    summary = "any NVIDIA GPU of compute capability 7.0 or newer"
    names = ()
    generic = True
    source = "sizes: asked of the CUDA driver; ceilings: measured on this machine (copy, matrix products)"

    def is_one(self, device: Device) -> bool:
        """True for whatever Triton compiles for."""
        return device.capability >= SMALLEST_CAPABILITY


ITEM = NvidiaGpu()
