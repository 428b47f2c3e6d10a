"""Bits that no honest computation leaves behind: they show which elements of an output were never written."""

from __future__ import annotations

import secrets

import torch

from strop.records.tensor import DType, TensorSpec
from strop.wire.tensors import bits, sizes, steps, torch_dtype, view

TILE_BYTES = 256 * 1024
# Elements of narrow integers equal the poison by chance; a run of this many bits does not.
CERTAIN_BITS = 64

# Per floating type: the bits of a quiet NaN, and the bits that may be drawn (sign and payload of the IEEE 754 binary
# formats), as signed integers of its width (complex: of its parts).
_NANS: dict[DType, tuple[torch.dtype, int, int]] = {
    DType.FLOAT64: (torch.int64, 0x7FF8_0000_0000_0000, 0x8007_FFFF_FFFF_FFFF - (1 << 64)),
    DType.FLOAT32: (torch.int32, 0x7FC0_0000, 0x803F_FFFF - (1 << 32)),
    DType.FLOAT16: (torch.int16, 0x7E00, 0x81FF - (1 << 16)),
    DType.BFLOAT16: (torch.int16, 0x7FC0, 0x803F - (1 << 16)),
    DType.COMPLEX64: (torch.int32, 0x7FC0_0000, 0x803F_FFFF - (1 << 32)),
    DType.COMPLEX128: (torch.int64, 0x7FF8_0000_0000_0000, 0x8007_FFFF_FFFF_FFFF - (1 << 64)),
}


class Poison:
    """One drawing of poison, for memory on ``device``: a tile of random bits per element type, made when first asked
    for.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._tiles: dict[DType, torch.Tensor] = {}

    def tile(self, dtype: DType) -> torch.Tensor:
        """``TILE_BYTES`` bytes that are repeated over a tensor of this type."""
        if dtype not in self._tiles:
            self._tiles[dtype] = _draw(dtype).to(self._device)
        return self._tiles[dtype]


def random_bytes(count: int) -> torch.Tensor:
    """Secret bytes."""
    return (
        torch.frombuffer(bytearray(secrets.token_bytes(count)), dtype=torch.uint8)
        if count
        else torch.empty(0, dtype=torch.uint8)
    )


def _draw(dtype: DType) -> torch.Tensor:
    drawn = random_bytes(TILE_BYTES)
    if dtype is DType.BOOL:
        # A boolean is 0 or 1 once it has been written.
        return drawn | 2
    if dtype not in _NANS:
        return drawn
    width, quiet, free = _NANS[dtype]
    # The NaNs that arithmetic itself makes have no payload, or one of ones alone: the lowest bit is always set and the
    # one beside it never.
    return ((drawn.view(width) & free & ~2) | (quiet | 1)).view(torch.uint8)


def fill(target: torch.Tensor, tile: torch.Tensor) -> None:
    """Repeat ``tile`` over ``target`` at the speed of a copy."""
    whole = target.numel() // tile.numel()
    covered = whole * tile.numel()
    if whole:
        target[:covered].view(whole, tile.numel()).copy_(tile)
    target[covered:].copy_(tile[: target.numel() - covered])


def count_unwritten(extent: torch.Tensor, tensor: TensorSpec, tile: torch.Tensor) -> int:
    """Elements of ``tensor`` (lying at the start of ``extent``) that equal the poison bit for bit, chance excluded."""
    if not extent.numel():
        return 0
    item = tensor.dtype.item_bytes
    same = _same_dense(extent, tensor.dtype, tile) if _is_dense(tensor) else _same_strided(extent, tensor, tile)
    if item > 8:
        same = same.view(-1, item // 8).all(1)
    if tensor.dtype.is_floating or tensor.dtype is DType.BOOL or item * 8 >= CERTAIN_BITS:
        return int(torch.count_nonzero(same))
    return _in_long_runs(same, CERTAIN_BITS // (8 * item))


def _is_dense(tensor: TensorSpec) -> bool:
    """True when the elements fill their extent without gaps or overlaps, in whatever order."""
    stride = steps(tensor)
    if stride is None:
        return True
    reach = 1
    for step, dim in sorted(pair for pair in zip(stride, sizes(tensor), strict=True) if pair[1] != 1):
        if step != reach:
            return False
        reach *= dim
    return True


def _same_dense(extent: torch.Tensor, dtype: DType, tile: torch.Tensor) -> torch.Tensor:
    kind = torch_dtype(dtype)
    here, there = bits(extent.view(kind)), bits(tile.view(kind))
    whole = here.numel() // there.numel()
    covered = whole * there.numel()
    parts = [(here[:covered].view(whole, there.numel()) == there).view(-1)] if whole else []
    return torch.cat([*parts, here[covered:] == there[: here.numel() - covered]])


def _same_strided(extent: torch.Tensor, tensor: TensorSpec, tile: torch.Tensor) -> torch.Tensor:
    expected = torch.empty_like(extent)
    fill(expected, tile)
    return bits(view(extent, tensor, 0)) == bits(view(expected, tensor, 0))


def _in_long_runs(same: torch.Tensor, length: int) -> int:
    """Elements in runs of at least ``length``; a tensor shorter than that counts when all of it is the same."""
    length = min(length, same.numel())
    edge = torch.zeros(1, dtype=torch.int8, device=same.device)
    edges = torch.diff(torch.cat([edge, same.to(torch.int8), edge])).nonzero().view(-1)
    runs = edges[1::2] - edges[::2]
    return int(runs[runs >= length].sum())
