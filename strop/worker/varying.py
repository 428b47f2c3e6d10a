"""What a workload claims beyond its own inputs: read from its declaration, and inputs made to fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from strop.errors import BadWorkload
from strop.records.tensor import Symbol, TensorSpec
from strop.records.workload import Leaf
from strop.wire.tensors import sizes, steps
from strop.worker.calls import paths_named
from strop.worker.leaves import Call, flatten_call

_FORMS = "write (low, high), (name, low, high), or the name of a dimension that has its range elsewhere"


def read_layouts(value: Any, where: str) -> bool:
    """Whether inputs may lie in any order of memory.

    Raises:
        BadWorkload: the value is not one of the two words.
    """
    if value not in (None, "own", "any"):
        raise BadWorkload(f"{where} is {value!r}: write 'any', or 'own' for the layout of its own inputs alone.")
    return value == "any"


def claimed(written: Any, inputs: Sequence[Leaf], names: Sequence[str]) -> tuple[Leaf, ...]:
    """Read ``{"x": {0: ("batch", 1, 64)}, "mask": {0: "batch", 1: (1, 128)}}``: the inputs that it speaks of, with a
    Symbol for each dimension that may vary.

    Raises:
        BadWorkload: a key that is no input, a dimension that is none, or a range that cannot be meant.
    """
    if not isinstance(written, Mapping) or not all(isinstance(value, Mapping) for value in written.values()):
        raise BadWorkload("SHAPES is a dictionary by input of dictionaries by dimension: {'x': {0: (1, 64)}}.")
    leaves = {leaf.path: leaf for leaf in inputs}
    values = {
        (path, _dimension(leaves[path], dim)): value
        for key, ranges in written.items()
        for path in paths_named(str(key), tuple(leaves), names, "SHAPES")
        for dim, value in ranges.items()
    }
    ranged = [_symbol(path, dim, value) for (path, dim), value in values.items() if not isinstance(value, str)]
    symbols = {symbol.name: symbol for symbol in ranged}
    for symbol in ranged:
        if symbols[symbol.name] != symbol:
            raise BadWorkload(f"SHAPES gives {symbol.name!r} two ranges: write it once, and its name alone elsewhere.")
    now: dict[str, int] = {}
    shapes = {path: list(leaves[path].tensor.shape) for path, _ in values}
    for (path, dim), value in values.items():
        name = value if isinstance(value, str) else _symbol(path, dim, value).name
        if name not in symbols:
            raise BadWorkload(f"SHAPES speaks of {name!r} in {path} and gives it no range: {_FORMS}.")
        _check(symbols[name], sizes(leaves[path].tensor)[dim], now)
        shapes[path][dim] = symbols[name]
    return tuple(
        replace(leaves[path], tensor=replace(leaves[path].tensor, shape=tuple(shape))) for path, shape in shapes.items()
    )


def _dimension(leaf: Leaf, dim: Any) -> int:
    count = len(leaf.tensor.shape)
    if not isinstance(dim, int) or not -count <= dim < count:
        raise BadWorkload(f"SHAPES speaks of dimension {dim!r} of {leaf.path}, which has {count}.")
    return dim % count


def _symbol(path: str, dim: int, value: Any) -> Symbol:
    match value:
        case (int(low), int() | None as high):
            name = f"{path}.shape[{dim}]"
        case (str(name), int(low), int() | None as high):
            pass
        case _:
            raise BadWorkload(f"SHAPES gives dimension {dim} of {path} as {value!r}: {_FORMS}.")
    if low < 1 or (high is not None and high < low):
        raise BadWorkload(f"SHAPES gives {name} a range from {low} to {high}: begin at 1 or above, and end above that.")
    return Symbol(name=name, low=low, high=high)


def _check(symbol: Symbol, size: int, now: dict[str, int]) -> None:
    """The workload's own inputs have to be among what it claims."""
    if now.setdefault(symbol.name, size) != size:
        raise BadWorkload(f"SHAPES has one name, {symbol.name}, for sizes that differ: {now[symbol.name]} and {size}.")
    if not symbol.low <= size <= (symbol.high or size):
        raise BadWorkload(f"SHAPES leaves {symbol.name} a range that {size}, its own size, is not in: widen it.")


def fitted(draw: Callable[[], Call], inputs: Sequence[Leaf]) -> Callable[[], Call]:
    """A generator whose draws are cut, continued by further ones and laid out to be like ``inputs``: repeated elements
    would hide whoever looks at the first of them alone.
    """

    def redraw() -> Call:
        shape, first = flatten_call(draw())
        drawn = [first]

        def piece(path: str, number: int) -> torch.Tensor:
            while len(drawn) <= number:
                drawn.append(flatten_call(draw())[1])
            return drawn[number][path]

        fit = {leaf.path: _fit(partial(piece, leaf.path), leaf.tensor) for leaf in inputs if leaf.path in first}
        return shape.build(first | fit)

    return redraw


def _fit(piece: Callable[[int], torch.Tensor], spec: TensorSpec) -> torch.Tensor:
    for dim, size in enumerate(sizes(spec)):
        if size != piece(0).shape[dim]:
            piece = partial(_joined, piece, dim, size)
    return _laid_out(piece(0), spec)


def _joined(piece: Callable[[int], torch.Tensor], dim: int, size: int, number: int) -> torch.Tensor:
    """So many pieces beside one another that they are long enough."""
    count = -(-size // piece(0).shape[dim])
    pieces = [piece(number * count + each) for each in range(count)]
    return torch.cat(pieces, dim).narrow(dim, 0, size)


def _laid_out(tensor: torch.Tensor, spec: TensorSpec) -> torch.Tensor:
    stride = steps(spec)
    if stride is None:
        return tensor.contiguous()
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
