"""Mean and maximum over sliding windows on a CPU: separable, vectorised, for contiguous and channels-last layouts.

``torch.ops.strop.window`` is what rewritten graphs call. It needs this module imported and a C++ compiler on the
first call of each kind of window; the kernel is kept for the process and, as a library, between processes.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence

import torch
from torch._prims_common import suggest_memory_format

from strop.kernels.native import load

DTYPES = {torch.float32: "float", torch.float64: "double", torch.bfloat16: "bfloat16"}
KINDS = {"mean": "Sum", "max": "Max"}

_LONGEST_UNROLLED = 12
_AXES = 3
_SCHEMA = (
    "window(Tensor input, str kind, int[] kernel, int[] stride, int[] padding, int[] dilation, int[] result, "
    "bool include_padding, int divisor) -> Tensor"
)

LIBRARY = torch.library.Library("strop", "FRAGMENT")
LIBRARY.define(_SCHEMA)
WINDOW = torch.ops.strop.window.default
"""The operator that graphs call: see :func:`_window`."""


def _source(kind: str, element: str, kernel: int, stride: int) -> str:
    return f"""#include "windows.hpp"
extern "C" void run(const Windows* windows, const void* input, void* result) {{
    WindowKernel<{element}, {kind}, {kernel}, {stride}>(
        *windows, static_cast<const {element}*>(input), static_cast<{element}*>(result)).run();
}}
"""


@functools.cache
def _kernel(kind: str, dtype: torch.dtype, kernel: int, stride: int) -> Callable[..., None]:
    short = kernel <= _LONGEST_UNROLLED
    run = load(_source(KINDS[kind], DTYPES[dtype], kernel if short else 0, stride if short else 0)).run
    run.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    run.restype = None
    return run


def prepare(kind: str, dtype: torch.dtype, kernel: int, stride: int) -> None:
    """Build the kernel for windows of ``kernel`` elements, ``stride`` apart, along the last dimension.

    Raises:
        KernelBuildError: there is no compiler, or it refused.
    """
    _kernel(kind, dtype, kernel, stride)


def _empty_result(source: torch.Tensor, result: Sequence[int]) -> tuple[torch.Tensor, torch.memory_format]:
    # Channels are the second dimension of a batch alone; without one, the same strides mean something else.
    batch = source.dim() == len(result) + 2 and len(result) > 1
    layout = suggest_memory_format(source) if batch else torch.contiguous_format
    sizes = [*source.shape[: source.dim() - len(result)], *result]
    return torch.empty(sizes, dtype=source.dtype, device=source.device, memory_format=layout), layout


def _window(
    source: torch.Tensor,
    kind: str,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    result: Sequence[int],
    include_padding: bool,
    divisor: int,
) -> torch.Tensor:
    """Windows over the last ``len(kernel)`` dimensions.

    Args:
        source: ``[..., channels, *space]``, with at most one dimension before the channels.
        kind: ``mean`` or ``max``.
        kernel, stride, padding, dilation, result: per dimension of space, 1 to 3 of them; ``result`` are the output's
            sizes.
        include_padding: whether the mean counts the places of padding, as ``count_include_pad`` of ``avg_pool2d`` does.
        divisor: what sums are divided by instead of the number of places; 0 for none.
    """
    made, layout = _empty_result(source, result)
    if made.numel() == 0:
        return made
    source = _readable(source, layout)
    description = _describe(source, made, layout, (kernel, stride, padding, dilation), include_padding, divisor)
    run = _kernel(kind, source.dtype, kernel[-1], stride[-1])
    run(description, source.data_ptr(), made.data_ptr())
    return made


def _readable(source: torch.Tensor, layout: torch.memory_format) -> torch.Tensor:
    """The kernel reads rows that lie densely, whatever the steps between rows; anything else is copied first."""
    if layout is torch.contiguous_format:
        return source if source.stride(-1) == 1 or source.shape[-1] == 1 else source.contiguous()
    dense = source.stride(1) == 1 and source.stride(-1) == source.shape[1]
    return source if dense else source.contiguous(memory_format=layout)


def _describe(
    source: torch.Tensor,
    made: torch.Tensor,
    layout: torch.memory_format,
    windows: tuple[Sequence[int], ...],
    include_padding: bool,
    divisor: int,
) -> ctypes.Array[ctypes.c_int64]:
    dimensions = len(windows[0])
    batch = source.dim() - dimensions == 2
    inner = source.shape[1] if layout is not torch.contiguous_format else 1
    numbers: list[int] = []
    for axis in range(_AXES):
        at = axis - (_AXES - dimensions)
        if at < 0:
            numbers += (1, 1, 1, 1, 0, 1)
        else:
            place = source.dim() - dimensions + at
            numbers += (source.shape[place], made.shape[place], *(part[at] for part in windows))
    numbers += (source.shape[0] if batch else 1, 1 if inner > 1 else source.shape[-dimensions - 1], inner)
    for tensor in (source, made):
        strides = [0] * (_AXES - dimensions) + list(tensor.stride()[-dimensions:])
        numbers += (tensor.stride(0) if batch else 0, tensor.stride(-dimensions - 1), strides[0], strides[1])
    numbers += (divisor, int(include_padding), torch.get_num_threads())
    return (ctypes.c_int64 * len(numbers))(*numbers)


def _window_of_fakes(
    source: torch.Tensor,
    kind: str,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    result: Sequence[int],
    include_padding: bool,
    divisor: int,
) -> torch.Tensor:
    return _empty_result(source, result)[0]


LIBRARY.impl("window", _window, "CPU")
torch.library.register_fake("strop::window", _window_of_fakes, lib=LIBRARY)
