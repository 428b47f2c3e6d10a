"""What crosses the wall: frames, records and arenas; whatever is malformed is refused in words."""

import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.records.evidence import Circumstance
from strop.records.tensor import DType, Symbol, TensorSpec
from strop.records.workload import Leaf
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
from strop.wire.tensors import (
    bits,
    copied,
    known_dtype,
    real,
    same_bits,
    shaped,
    sizes,
    steps,
    torch_dtype,
    view,
    views,
)
from tests.unit.wire.guards import guard_mask

shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)
leaves = st.lists(
    st.builds(lambda shape, kind: TensorSpec(shape=shape, dtype=kind), shapes, st.sampled_from(list(DType))), max_size=5
).map(lambda specs: tuple(Leaf(path=f"t{i}", tensor=spec) for i, spec in enumerate(specs)))


@given(leaves, leaves, st.integers(1, 4))
def test_tensors_of_an_arena_never_touch_and_guards_cover_the_rest(fixed, slot, slots):
    layout = plan_layout(fixed, slot, slots)
    owner = torch.zeros(layout.total_bytes, dtype=torch.uint8)
    for place in [None, *range(slots)]:
        for span, start in layout.placed(place):
            assert start % 8 == 0 and start >= GUARD_BYTES
            owner[start : start + span.extent_bytes] += 1
            owner[start - GUARD_BYTES : start] += 0
    assert owner.max() <= 1
    assert torch.equal(guard_mask(layout), owner == 0)


@given(leaves)
def test_views_share_the_memory_and_keep_shape(slot):
    layout = plan_layout((), slot, 2)
    buffer = torch.zeros(layout.total_bytes, dtype=torch.uint8)
    for path, tensor in views(buffer, layout, 1).items():
        spec = next(leaf.tensor for leaf in slot if leaf.path == path)
        assert tensor.shape == spec.shape
        assert tensor.dtype is torch_dtype(spec.dtype)
        tensor.fill_(1)
    assert all((a == 1).all() for a in views(buffer, layout, 1).values())
    assert all((a == 0).all() for a in views(buffer, layout, 0).values())
    assert not buffer[guard_mask(layout)].any()


def test_strides_are_kept():
    spec = TensorSpec(shape=(2, 3), dtype=DType.FLOAT32, stride=(1, 2))
    assert extent_bytes(spec) == 24
    memory = torch.arange(32, dtype=torch.uint8)
    tensor = view(memory, spec, 8)
    assert tensor.stride() == (1, 2)
    assert bytes(tensor[1, 0].reshape(1).view(torch.uint8).tolist()) == bytes(range(12, 16))
    symbolic = TensorSpec(shape=(Symbol(name="n"), 3), dtype=DType.FLOAT32, stride=(1, Symbol(name="n")))
    assert view(torch.zeros(24, dtype=torch.uint8), symbolic, 0).shape == (2, 3)
    assert (sizes(symbolic), steps(symbolic)) == ([2, 3], [1, 2])
    assert steps(TensorSpec(shape=(2,), dtype=DType.FLOAT32)) is None


def test_what_lies_behind_the_start_of_its_memory_keeps_its_place():
    flat = torch.arange(10.0)[4:]
    assert shaped(flat, TensorSpec(shape=(2, 3), dtype=DType.FLOAT32, stride=(1, 2))).tolist() == [[4, 6, 8], [5, 7, 9]]
    assert shaped(flat, TensorSpec(shape=(2, 3), dtype=DType.FLOAT32)).tolist() == [[4, 5, 6], [7, 8, 9]]


def test_a_slot_that_does_not_exist():
    with pytest.raises(IndexError, match="slot 2 of 2"):
        plan_layout((), (), 2).slot_start(2)


def test_every_type_is_known_on_both_sides():
    for kind in DType:
        assert known_dtype(torch_dtype(kind)) is kind
        assert torch_dtype(kind).itemsize == kind.item_bytes
    assert known_dtype(torch.quint8) is None


def test_complex_numbers_are_pairs_of_real_ones():
    assert real(torch.tensor([1 + 2j])).tolist() == [[1.0, 2.0]]
    assert real(torch.tensor([3], dtype=torch.int8)).dtype is torch.int8


@pytest.mark.parametrize("kind", list(DType))
def test_bits_are_compared_whatever_they_mean(kind):
    memory = torch.arange(0, 64, dtype=torch.uint8) | 0x80
    values = memory.view(torch_dtype(kind))
    assert bits(values).view(torch.uint8).tolist() == memory.tolist()
    assert same_bits(values, memory.clone().view(torch_dtype(kind)))
    for byte in range(64):
        changed = memory.clone()
        changed[byte] ^= 1
        assert not same_bits(values, changed.view(torch_dtype(kind)))
    assert bits(values[:0]).numel() == 0


def test_bits_of_values_that_do_not_lie_one_after_another():
    table = torch.arange(6.0).reshape(2, 3)
    assert same_bits(table.t(), table.t().contiguous())
    assert not same_bits(table.t(), table)
    for kind in DType:
        sparse = torch.arange(6).to(torch_dtype(kind))[::2]
        assert same_bits(sparse, sparse.clone()) and not same_bits(sparse, torch.ones(3).to(sparse.dtype))
    assert same_bits(torch.tensor(torch.nan), torch.tensor(torch.nan))
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))


def test_booleans_that_are_neither_true_nor_false_keep_their_bits():
    table = torch.arange(2, 8, dtype=torch.uint8).view(torch.bool).reshape(2, 3)
    assert bits(table).tolist() == [2, 3, 4, 5, 6, 7]
    assert bits(table.t()).tolist() == [2, 5, 3, 6, 4, 7]
    assert not same_bits(table.t(), torch.ones(3, 2, dtype=torch.bool))


@pytest.mark.parametrize("step", [1, 2])
def test_copies_are_private_and_keep_every_byte(step):
    bytes_ = torch.arange(40, dtype=torch.uint8)
    of = {"flag": bytes_.view(torch.bool)[::step], "x": torch.full((3, 4), torch.nan).t(), "none": torch.empty(0, 2)}
    copies = copied(of)
    assert all(same_bits(copies[path], each) for path, each in of.items())
    bytes_.zero_()
    assert copies["flag"].view(torch.uint8).tolist() == list(range(0, 40, step))
    assert copies["flag"].untyped_storage().nbytes() == 40 // step


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
