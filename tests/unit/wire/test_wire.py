"""What crosses the wall: frames, records and arenas; whatever is malformed is refused in words."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.records.evidence import Circumstance
from strop.records.tensor import DType, Symbol, TensorSpec
from strop.records.workload import Leaf
from strop.wire.arrays import as_float64, guard_mask, view, views
from strop.wire.codec import CodecError, decode, encode
from strop.wire.frames import (
    HEADER,
    MAGIC,
    MAX_BODY_BYTES,
    Frame,
    FrameError,
    FrameKind,
    PipeClosed,
    pack,
    read_frame,
    unpack_header,
    write_frame,
)
from strop.wire.layout import GUARD_BYTES, extent_bytes, plan_layout
from strop.wire.messages import Done, ReplyMessage, RequestMessage, Run

shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)
leaves = st.lists(
    st.builds(lambda shape, kind: TensorSpec(shape=shape, dtype=kind), shapes, st.sampled_from(list(DType))), max_size=5
).map(lambda specs: tuple(Leaf(path=f"t{i}", tensor=spec) for i, spec in enumerate(specs)))


@given(leaves, leaves, st.integers(1, 4))
def test_tensors_of_an_arena_never_touch_and_guards_cover_the_rest(fixed, slot, slots):
    layout = plan_layout(fixed, slot, slots)
    owner = np.zeros(layout.total_bytes, dtype=np.uint8)
    for place in [None, *range(slots)]:
        for span, start in layout.placed(place):
            assert start % 8 == 0 and start >= GUARD_BYTES
            owner[start : start + span.extent_bytes] += 1
            owner[start - GUARD_BYTES : start] += 0
    assert owner.max(initial=0) <= 1
    assert np.array_equal(guard_mask(layout), owner == 0)


@given(leaves)
def test_views_share_the_memory_and_keep_shape(slot):
    layout = plan_layout((), slot, 2)
    buffer = np.zeros(layout.total_bytes, dtype=np.uint8)
    for path, array in views(buffer, layout, 1).items():
        spec = next(leaf.tensor for leaf in slot if leaf.path == path)
        assert array.shape == spec.shape
        array[...] = 1
    assert all((a == 1).all() for a in views(buffer, layout, 1).values())
    assert all((a == 0).all() for a in views(buffer, layout, 0).values())
    assert not buffer[guard_mask(layout)].any()


def test_strides_are_kept():
    spec = TensorSpec(shape=(2, 3), dtype=DType.FLOAT32, stride=(1, 2))
    assert extent_bytes(spec) == 24
    array = view(np.arange(24, dtype=np.uint8), spec, 0)
    assert array.strides == (4, 8)
    symbolic = TensorSpec(shape=(Symbol(name="n"), 3), dtype=DType.FLOAT32, stride=(1, Symbol(name="n")))
    assert view(np.zeros(24, np.uint8), symbolic, 0).shape == (2, 3)


def test_a_slot_that_does_not_exist():
    with pytest.raises(IndexError, match="slot 2 of 2"):
        plan_layout((), (), 2).slot_start(2)


def test_every_type_becomes_double_precision():
    assert as_float64(np.array([0x3F80, 0x7FC0], np.uint16), DType.BFLOAT16)[0] == 1.0
    assert np.isnan(as_float64(np.array([0x7FC0], np.uint16), DType.BFLOAT16)).all()
    assert as_float64(np.array([1 + 2j], np.complex64), DType.COMPLEX64).tolist() == [[1.0, 2.0]]
    assert as_float64(np.array([3], np.int8), DType.INT8).dtype == np.float64


def test_messages_survive_and_unknown_keys_do_not():
    run = Run(slot=3, circumstance=Circumstance.REPEATED)
    assert decode(RequestMessage, encode(run, RequestMessage)) == run
    with pytest.raises(CodecError, match="slto"):
        decode(RequestMessage, b'{"ask": "run", "slot": 1, "slto": 2}')
    with pytest.raises(CodecError):
        decode(ReplyMessage, b"not json")
    assert decode(Done, encode(Done())) == Done()


def test_frames_on_a_pipe():
    read, write = os.pipe()
    write_frame(write, Frame(FrameKind.RECORD, b"body"))
    write_frame(write, Frame(FrameKind.DONE))
    assert read_frame(read) == Frame(FrameKind.RECORD, b"body")
    assert read_frame(read) == Frame(FrameKind.DONE)
    os.write(write, HEADER.pack(MAGIC, FrameKind.RECORD, 9) + b"short")
    os.close(write)
    with pytest.raises(PipeClosed):
        read_frame(read)
    os.close(read)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (HEADER.pack(b"EVIL", 1, 0), "its mark"),
        (HEADER.pack(MAGIC, 77, 0), "unknown"),
        (HEADER.pack(MAGIC, 1, MAX_BODY_BYTES + 1), "over the limit"),
    ],
)
def test_a_forged_header_is_refused(header, says):
    with pytest.raises(FrameError, match=says):
        unpack_header(header)


def test_an_oversized_body_is_not_sent(monkeypatch):
    monkeypatch.setattr("strop.wire.frames.MAX_BODY_BYTES", 3)
    with pytest.raises(FrameError, match="over the limit"):
        pack(Frame(FrameKind.RECORD, b"four"))
