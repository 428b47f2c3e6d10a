"""Chains of element-wise steps and row reductions on a CPU, each as one vectorised kernel that is made from its
program.

``torch.ops.strop.rows`` is what rewritten graphs call, ``torch.ops.strop.row`` where there is one result. They need
this module imported and a C++ compiler on the first call of each program; the kernel is kept for the process and, as a
library, between processes.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch._prims_common import compute_elementwise_output_strides

from strop.kernels.native import load
from strop.kernels.program import Program, ProgramError, parse
from strop.kernels.row_source import Layout, source_of

DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "bool": torch.bool,
}

LIBRARY = torch.library.Library("strop", "FRAGMENT")
LIBRARY.define("rows(Tensor[] operands, str program) -> Tensor[]")
LIBRARY.define("row(Tensor[] operands, str program) -> Tensor")
ROWS = torch.ops.strop.rows.default
"""The operator that graphs call: see :func:`_rows`."""
ROW = torch.ops.strop.row.default
"""The same for a program with one result: Inductor's C++ wrapper takes a list of one tensor for that tensor and
crashes."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """A kernel for operands of certain shapes and strides: what to call, with which numbers, and what to allocate."""

    run: Callable[..., None]
    numbers: tuple[int, ...]
    results: tuple[tuple[tuple[int, ...], tuple[int, ...], torch.dtype], ...]
    empty: bool


def _results(
    program: Program, operands: Sequence[torch.Tensor]
) -> tuple[torch.Size, list[tuple[list[int], list[int], torch.dtype]]]:
    """The shape that is walked, and shape, strides and type of each result; for fake tensors as well."""
    shape = torch.broadcast_shapes(*(each.shape for each in operands))
    expanded = [each.expand(shape) for each in operands]
    strides = compute_elementwise_output_strides(*expanded)
    made = []
    for value, element in program.results:
        if program.row_values[value]:
            sizes = [*shape[: len(shape) - program.rows], *[1] * program.rows]
            made.append((sizes, _contiguous(sizes), DTYPES[element]))
        else:
            made.append(([*shape], [*strides], DTYPES[element]))
    return shape, made


def _contiguous(sizes: Sequence[int]) -> list[int]:
    strides, step = list[int](), 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step = step * size
    return strides


def _rows(operands: Sequence[torch.Tensor], program: str) -> list[torch.Tensor]:
    """Run a program.

    Args:
        operands: as many as the program has, broadcastable to one shape, of the types that it names.
        program: see ``strop.kernels.program``.

    Returns:
        Its results: of the common shape, or with ones in place of the row's dimensions.
    """
    key = (program, *((each.shape, each.stride()) for each in operands))
    plan = _plan(key)
    results = [torch.empty_strided(sizes, strides, dtype=dtype) for sizes, strides, dtype in plan.results]
    if not plan.empty:
        tensors = [each.data_ptr() for each in (*operands, *results)]
        numbers = (torch.get_num_threads(), *plan.numbers)
        plan.run((ctypes.c_int64 * len(numbers))(*numbers), (ctypes.c_void_p * len(tensors))(*tensors))
    return results


@functools.lru_cache(maxsize=4096)
def _plan(key: tuple) -> _Plan:
    text, geometry = key[0], key[1:]
    program = parse(text)
    if len(geometry) != len(program.operands):
        raise ProgramError(f"The program takes {len(program.operands)} operands, but got {len(geometry)}.")
    operands = [
        torch.empty_strided(shape, stride, dtype=DTYPES[operand.element], device="meta")
        for (shape, stride), operand in zip(geometry, program.operands, strict=True)
    ]
    shape, made = _results(program, operands)
    results = tuple((tuple(sizes), tuple(strides), dtype) for sizes, strides, dtype in made)
    if shape.numel() == 0:
        return _Plan(run=_nothing, numbers=(), results=results, empty=True)
    strides = [each.expand(shape).stride() for each in operands]
    strides += [
        tuple(0 if size == 1 else step for size, step in zip(sizes, steps, strict=True)) for sizes, steps, _ in results
    ]
    outer, row = _dimensions(shape, strides, program)
    layout = Layout(loops=len(row), steps=tuple(_kind(each, row) for each in _by_tensor(row, len(strides))))
    run = _kernel(text, layout)
    numbers = [len(outer), *(size for size, _ in outer), *(size for size, _ in row)]
    for tensor in range(len(strides)):
        numbers += [steps[tensor] for _, steps in (*outer, *row)]
    return _Plan(run=run, numbers=tuple(numbers), results=results, empty=False)


Dimension = tuple[int, tuple[int, ...]]
"""A size, and the step of every tensor along it."""


def _dimensions(
    shape: Sequence[int], strides: Sequence[Sequence[int]], program: Program
) -> tuple[list[Dimension], list[Dimension]]:
    """Outer and row dimensions: ones dropped, largest steps first, neighbours joined where every tensor allows it."""
    every = [(size, tuple(each[place] for each in strides)) for place, size in enumerate(shape)]
    border = len(shape) - program.rows
    if program.rows:
        return _joined(every[:border]), _joined(every[border:]) or [(1, (0,) * len(strides))]
    dimensions = _joined(every) or [(1, (0,) * len(strides))]
    kept = max(len(dimensions) - 2, 0)
    return dimensions[:kept], dimensions[kept:]


def _joined(dimensions: Sequence[Dimension]) -> list[Dimension]:
    proper = [each for each in dimensions if each[0] != 1]
    # The order of the steps of the largest tensor; sorting is stable, so equal steps keep their order.
    proper.sort(key=lambda each: -max(each[1], default=0))
    joined = list[Dimension]()
    for size, steps in proper:
        if joined and all(above == step * size for above, step in zip(joined[-1][1], steps, strict=True)):
            joined[-1] = (joined[-1][0] * size, steps)
        else:
            joined.append((size, steps))
    return joined


def _by_tensor(row: Sequence[Dimension], count: int) -> list[int]:
    return [row[-1][1][tensor] for tensor in range(count)]


def _kind(step: int, row: Sequence[Dimension]) -> int:
    return step if step in (0, 1) else 2


def _nothing(*_: object) -> None:
    """What is run for an empty tensor."""


@functools.lru_cache(maxsize=1024)
def _kernel(text: str, layout: Layout) -> Callable[..., None]:
    run = load(source_of(parse(text), layout)).run
    run.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    run.restype = None
    return run


def _rows_of_fakes(operands: Sequence[torch.Tensor], program: str) -> list[torch.Tensor]:
    _, results = _results(parse(program), operands)
    device = operands[0].device
    return [torch.empty_strided(sizes, strides, dtype=dtype, device=device) for sizes, strides, dtype in results]


LIBRARY.impl("rows", _rows, "CPU")
LIBRARY.impl("row", lambda operands, program: _rows(operands, program)[0], "CPU")
torch.library.register_fake("strop::rows", _rows_of_fakes, lib=LIBRARY)
torch.library.register_fake("strop::row", lambda operands, program: _rows_of_fakes(operands, program)[0], lib=LIBRARY)
