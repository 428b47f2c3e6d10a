"""The lent memory: poison that shows every element that was not written, guards, snapshots, growth, and seals."""

import fcntl
import math
import os
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.errors import InternalFault
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Leaf
from strop.sandbox.arena import Arena, ArenaSpoiled
from strop.wire.layout import plan_layout
from strop.wire.tensors import real, views
from tests.unit.wire.guards import guard_mask

ALL = tuple(DType)


def leaf(path, shape, dtype=DType.FLOAT32, stride=None):
    return Leaf(path=path, tensor=TensorSpec(shape=shape, dtype=dtype, stride=stride))


@pytest.fixture(name="lend")
def _lend():
    arenas = []

    def lend(slot, slots=2, fixed=()):
        arena = Arena("test")
        arenas.append(arena)
        arena.resize(plan_layout(fixed, slot, slots))
        return arena

    yield lend
    for arena in arenas:
        arena.close()


@pytest.mark.parametrize("dtype", ALL)
def test_poisoned_elements_are_found_and_written_ones_are_not(lend, dtype):
    arena = lend([leaf("out", (100, 33), dtype)])
    arena.poison([0, 1])
    assert arena.unwritten(0) == {"out": 3300}
    raw = arena.views(0)["out"]
    raw[:60] = 0
    assert arena.unwritten(0) == {"out": 1320}
    assert arena.unwritten(1) == {"out": 3300}
    raw.fill_(1)
    assert arena.unwritten(0) == {"out": 0}


@pytest.mark.parametrize("dtype", [kind for kind in ALL if kind.is_floating])
def test_floating_poison_is_quiet_nan_and_never_the_nan_of_arithmetic(lend, dtype):
    arena = lend([leaf("out", (5000,), dtype)])
    arena.poison([0])
    out = arena.views(0)["out"]
    assert torch.isnan(real(out)).all()
    infinite = torch.full_like(out, torch.inf)
    # What a processor makes of inf - inf has no payload or, in narrow formats and on accelerators, a full one.
    full = torch.full_like(real(out), 0).view(torch.uint8).fill_(0xFF)
    full.view(-1, real(out).element_size())[:, -1] = 0x7F
    for made in (torch.full_like(out, torch.nan), infinite - infinite, infinite * 0, full.view(real(out).dtype)):
        for sign in (1, -1):
            (real(out) if made.shape != out.shape else out).copy_(sign * made)
            assert torch.isnan(real(out)).any()
            assert arena.unwritten(0) == {"out": 0}


def test_poison_differs_from_call_to_call(lend):
    arena = lend([leaf("out", (64,))])
    arena.poison([0])
    first = arena.snapshot()
    arena.poison([0])
    assert (arena.snapshot() != first).float().mean() > 0.3


def test_chance_does_not_accuse_small_integers(lend):
    arena = lend([leaf("out", (1_000_000,), DType.UINT8)], slots=1)
    arena.poison([0])
    out = arena.views(0)["out"]
    out.random_(0, 256, generator=torch.Generator().manual_seed(1))
    assert arena.unwritten(0) == {"out": 0}
    arena.poison([0])
    out[: out.numel() - 20] += 1
    assert arena.unwritten(0) == {"out": 20}


@settings(max_examples=60)
@given(
    shape=st.lists(st.integers(0, 7), min_size=0, max_size=4).map(tuple),
    gap=st.integers(1, 3),
    order=st.randoms(use_true_random=False),
    dtype=st.sampled_from([DType.FLOAT32, DType.BFLOAT16, DType.COMPLEX128, DType.INT64, DType.BOOL]),
)
def test_unwritten_counts_the_elements_of_any_layout(shape, gap, order, dtype):
    axes = list(range(len(shape)))
    order.shuffle(axes)
    stride, reach = [0] * len(shape), gap
    for axis in axes:
        stride[axis] = reach
        reach *= max(1, shape[axis])
    arena = Arena("test")
    arena.resize(plan_layout([], [leaf("out", shape, dtype, tuple(stride))], 1))
    arena.poison([0])
    total = math.prod(shape)
    assert arena.unwritten(0) == {"out": total}
    out = arena.views(0)["out"]
    if total:
        out[tuple(0 for _ in shape)] = 1
        assert arena.unwritten(0) == {"out": total - 1}
    assert arena.guards_intact()
    arena.close()


def test_a_stray_byte_breaks_the_guards(lend):
    arena = lend([leaf("a", (10,)), leaf("b", (3, 5), DType.INT8)], fixed=[leaf("w", (7,))])
    assert arena.guards_intact()
    mask = guard_mask(arena.layout)
    arena.bytes[~mask] += 1
    assert arena.guards_intact()
    for where in mask.nonzero().view(-1)[::37]:
        arena.bytes[where] ^= 1
        assert not arena.guards_intact()
        arena.bytes[where] ^= 1
    assert arena.guards_intact()
    arena.bytes[mask.nonzero()[-1]] ^= 1
    arena.poison([0, 1])
    assert arena.guards_intact()


def test_a_snapshot_is_private_and_can_be_judged(lend):
    arena = lend([leaf("out", (8,))])
    arena.poison([0])
    copy = arena.snapshot()
    arena.views(0)["out"].fill_(1)
    arena.bytes[0] ^= 1
    assert arena.unwritten(0, copy) == {"out": 8}
    assert arena.guards_intact(copy)
    assert not arena.guards_intact()
    assert torch.isnan(views(copy, arena.layout, 0)["out"]).all()


def test_it_grows_and_old_views_see_the_same_pages(lend):
    arena = lend([leaf("x", (4,))], slots=1)
    old = arena.views(0)["x"]
    old.copy_(torch.tensor([1.0, 2, 3, 4]))
    arena.resize(plan_layout([], [leaf("x", (4,))], 64))
    assert arena.views(0)["x"].tolist() == [1, 2, 3, 4]
    old[0] = 9
    assert arena.views(0)["x"][0] == 9
    arena.resize(plan_layout([], [leaf("x", (2,))], 1))
    assert arena.bytes.numel() == arena.layout.total_bytes
    assert arena.guards_intact()


def test_it_cannot_be_shrunk_and_not_be_sealed_further(lend):
    arena = lend([leaf("x", (4096,))])
    with pytest.raises(PermissionError):
        os.ftruncate(arena.descriptor, 0)
    with pytest.raises(PermissionError):
        fcntl.fcntl(arena.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


def test_memory_that_is_not_there_is_told(lend):
    with pytest.raises(ArenaSpoiled, match="cannot be lent"):
        lend([leaf("x", (1 << 58,))], slots=1)


def test_asking_before_poisoning_is_our_mistake(lend):
    with pytest.raises(InternalFault, match="before it was poisoned"):
        lend([leaf("x", (4,))]).unwritten(0)


def test_large_arenas_go_at_the_speed_of_memory(lend):
    arena = lend([leaf("out", (32 << 20,))], slots=1)
    arena.poison([0])
    began = time.monotonic()
    arena.poison([0])
    assert arena.unwritten(0) == {"out": 32 << 20}
    assert arena.guards_intact()
    # 128 MiB: some 0.1 s where nothing else runs; element by element it would be minutes.
    assert time.monotonic() - began < 5
