"""Bits that no honest computation leaves behind: they show which elements of an output were never written."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from strop.records.tensor import Dim, DType, TensorSpec
from strop.wire.arrays import view

TILE_BYTES = 256 * 1024
# Elements of narrow integers equal the poison by chance; a run of this many bits does not.
CERTAIN_BITS = 64

Bytes = NDArray[np.uint8]

# Per floating type: the integer of its width, the bits of a quiet NaN, and the bits that may be drawn (sign and payload
# of the IEEE 754 binary formats).
_NANS: dict[DType, tuple[type[np.unsignedinteger], int, int]] = {
    DType.FLOAT64: (np.uint64, 0x7FF8_0000_0000_0000, 0x8007_FFFF_FFFF_FFFF),
    DType.FLOAT32: (np.uint32, 0x7FC0_0000, 0x803F_FFFF),
    DType.FLOAT16: (np.uint16, 0x7E00, 0x81FF),
    DType.BFLOAT16: (np.uint16, 0x7FC0, 0x803F),
    DType.COMPLEX64: (np.uint32, 0x7FC0_0000, 0x803F_FFFF),
    DType.COMPLEX128: (np.uint64, 0x7FF8_0000_0000_0000, 0x8007_FFFF_FFFF_FFFF),
}


class Poison:
    """One drawing of poison: a tile of random bits per element type, made when first asked for."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._tiles: dict[DType, Bytes] = {}

    def tile(self, dtype: DType) -> Bytes:
        """``TILE_BYTES`` bytes that are repeated over a tensor of this type."""
        if dtype not in self._tiles:
            self._tiles[dtype] = _draw(dtype, self._rng)
        return self._tiles[dtype]


def _draw(dtype: DType, rng: np.random.Generator) -> Bytes:
    bits = np.frombuffer(rng.bytes(TILE_BYTES), np.uint8).copy()
    if dtype is DType.BOOL:
        # A boolean is 0 or 1 once it has been written.
        return bits | np.uint8(2)
    if dtype not in _NANS:
        return bits
    width, quiet, free = _NANS[dtype]
    words = bits.view(width)
    words &= width(free)
    # The lowest payload bit is always set: the NaNs that arithmetic itself makes have no payload.
    words |= width(quiet | 1)
    return bits


def fill(target: Bytes, tile: Bytes) -> None:
    """Repeat ``tile`` over ``target`` at the speed of memcpy."""
    whole = target.size // tile.size
    target[: whole * tile.size].reshape(whole, tile.size)[:] = tile
    rest = target.size - whole * tile.size
    target[whole * tile.size :] = tile[:rest]


def count_unwritten(extent: Bytes, tensor: TensorSpec, tile: Bytes) -> int:
    """Elements of ``tensor`` (lying at the start of ``extent``) that equal the poison bit for bit, chance excluded."""
    item = tensor.dtype.item_bytes
    same = _same_dense(extent, item, tile) if _is_dense(tensor) else _same_strided(extent, tensor, tile)
    if tensor.dtype.is_floating or tensor.dtype is DType.BOOL or item * 8 >= CERTAIN_BITS:
        return int(np.count_nonzero(same))
    return _in_long_runs(same, CERTAIN_BITS // (8 * item))


def _is_dense(tensor: TensorSpec) -> bool:
    """True when the elements fill their extent without gaps or overlaps, in whatever order."""
    if tensor.stride is None:
        return True
    pairs = [(_low(step), _low(dim)) for step, dim in zip(tensor.stride, tensor.shape, strict=True)]
    reach = 1
    for step, dim in sorted(pair for pair in pairs if pair[1] != 1):
        if step != reach:
            return False
        reach *= dim
    return True


def _low(dim: Dim) -> int:
    return dim if isinstance(dim, int) else dim.low


def _same_dense(extent: Bytes, item: int, tile: Bytes) -> NDArray[np.bool_]:
    same = np.empty(extent.size // item, np.bool_)
    for start in range(0, extent.size, tile.size):
        part = extent[start : start + tile.size]
        same[start // item : (start + part.size) // item] = _equal_items(part, tile[: part.size], item)
    return same


def _equal_items(left: Bytes, right: Bytes, item: int) -> NDArray[np.bool_]:
    word = np.dtype(f"u{min(item, 8)}")
    equal = left.view(word) == right.view(word)
    return equal if item <= 8 else equal.reshape(-1, item // 8).all(axis=1)


def _same_strided(extent: Bytes, tensor: TensorSpec, tile: Bytes) -> NDArray[np.bool_]:
    expected = np.empty_like(extent)
    fill(expected, tile)
    here, there = np.ascontiguousarray(view(extent, tensor, 0)), np.ascontiguousarray(view(expected, tensor, 0))
    return _equal_items(here.reshape(-1).view(np.uint8), there.reshape(-1).view(np.uint8), tensor.dtype.item_bytes)


def _in_long_runs(same: NDArray[np.bool_], length: int) -> int:
    """Elements in runs of at least ``length``; a tensor shorter than that counts when all of it is the same."""
    length = min(length, same.size)
    if length == 0:
        return 0
    edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
    runs = edges[1::2] - edges[::2]
    return int(runs[runs >= length].sum())
