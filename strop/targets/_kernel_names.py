"""Whose kernel a device kernel is, by the name that its driver knows it under."""

from __future__ import annotations

import re

# The first that fits counts: cuDNN and attention kernels are built on CUTLASS as well, and cuBLAS on xmma.
_MARKS = tuple(
    (re.compile(pattern), library)
    for pattern, library in (
        (r"\AMemcpy |\AMemset ", "the driver"),
        (r"flash_(?:fwd|bwd)|pytorch_flash", "flash attention"),
        (r"fmha_cutlass|AttentionKernel<|attention_kernel_batched", "memory-efficient attention"),
        (r"cudnn|xmma_(?:fprop|dgrad|wgrad)|implicit_convolve|nchwToNhwc|nhwcToNchw|winograd", "cuDNN"),
        (r"nvjet|cublas|xmma_gemm|[sdchzi]gemm_|gemm[SN]N|gemv[NT2]|gemvx|splitK_?[rR]educe|cutlass_\d+_", "cuBLAS"),
        (r"cutlass", "CUTLASS"),
        (r"cufft|regular_fft|vector_fft", "cuFFT"),
        (r"cusparse", "cuSPARSE"),
        (r"nccl", "NCCL"),
        (r"at::native|at_cuda_detail|c10::", "PyTorch"),
        (r"thrust::|\bcub::", "CUB"),
    )
)


_TF32 = re.compile(r"tf32|_s1688(?:gemm|fprop|dgrad|wgrad)")


def library_of(kernel: str) -> str:
    """The library in words; empty for what no library is known to have."""
    return next((library for pattern, library in _MARKS if pattern.search(kernel)), "")


def rounds_to_tf32(kernel: str) -> bool:
    """True for library kernels whose names say that they multiply float32 operands rounded to TF32."""
    return _TF32.search(kernel) is not None


def plain_kernel_name(kernel: str) -> str:
    """A device kernel's own name without return type, name spaces, template arguments and parameters."""
    text = _without_brackets(kernel)
    return text.rsplit("::", maxsplit=1)[-1].split(" ")[-1].strip() or kernel


def _without_brackets(kernel: str) -> str:
    """Everything outside ``<>`` and ``()``; what follows the parameters is dropped with them."""
    if kernel.startswith(("Memcpy ", "Memset ")):
        return kernel.split(" (", maxsplit=1)[0].replace(" ", "_")
    kept: list[str] = []
    depth = 0
    for mark in kernel.replace("(anonymous namespace)", "").replace("operator()", "call"):
        if mark == "(" and depth == 0:
            break
        depth += (mark in "<(") - (mark in ">)")
        if depth == 0 and mark not in ">)":
            kept.append(mark)
    return "".join(kept)
