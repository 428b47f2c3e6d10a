"""What timed rounds are fed with: how many calls, and contents that no call can know from another."""

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from strop.pipeline import slots
from strop.pipeline.slots import HOST_ARENA_BYTES, MAX_SLOTS, Supply, most_slots, slots_for, supply
from strop.records.target import MemoryLevel
from strop.records.tensor import HOST, DType, TensorSpec
from strop.records.workload import Domain, DomainKind, Leaf
from strop.wire import blends
from strop.wire.tensors import bits, torch_dtype
from tests.unit.pipeline.scripted import DESCRIPTION, TARGET, description

MIXABLE = [DType.FLOAT64, DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.COMPLEX64, DType.COMPLEX128]

FIXED = Leaf(path="fixed", tensor=TensorSpec(shape=(3,), dtype=DType.FLOAT32), domain=Domain(kind=DomainKind.FIXED))


def test_a_round_is_long_enough_and_fits_into_memory():
    assert slots_for(DESCRIPTION, TARGET, 1e3) == MAX_SLOTS
    assert slots_for(DESCRIPTION, TARGET, 1e9) == 4
    here = replace(TARGET, device=HOST)
    assert slots_for(of_bytes(HOST_ARENA_BYTES // 3), here, 1e3) == 2
    assert most_slots(of_bytes(3 * HOST_ARENA_BYTES), here) == 1


@pytest.mark.parametrize(("gib", "slots"), [(0.25, 59), (1, 9), (4, 2), (8, 1)])
def test_children_share_the_memory_of_a_device(gib, slots):
    memory = (MemoryLevel(name="L2", size_bytes=1024), MemoryLevel(name="memory", size_bytes=128 << 30))
    target = replace(TARGET, memory=memory, device="cuda")
    assert most_slots(of_bytes(int(gib * (1 << 30))), target) == slots
    assert slots_for(of_bytes(int(gib * (1 << 30))), target, 1e3) == slots
    assert most_slots(of_bytes(1), target) == MAX_SLOTS


def of_bytes(size):
    leaf = Leaf(path="x", tensor=TensorSpec(shape=(max(1, size // 4),), dtype=DType.FLOAT32))
    return description(inputs=(leaf,), outputs=())


def leaf_of(path, dtype, kind=None, shape=(50,)):
    domain = None if kind is None else Domain(kind=kind)
    return Leaf(path=path, tensor=TensorSpec(shape=shape, dtype=dtype), domain=domain)


def raw(tensor):
    return bytes(bits(tensor).view(torch.uint8).tolist())


def drawn(seed, dtype=DType.FLOAT32, shape=(50,)):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch_dtype(dtype))


def in_order(tensor):
    return torch.sort(tensor.reshape(-1)).values.tolist()


def test_no_two_timed_calls_see_the_same_contents_and_values_keep_their_domain():
    leaves = (
        leaf_of("x", DType.FLOAT32),
        leaf_of("p", DType.FLOAT64, DomainKind.DISTRIBUTION, (10, 5)),
        leaf_of("token", DType.INT64, DomainKind.INTEGER),
        leaf_of("flag", DType.BOOL, DomainKind.BOOLEAN),
        leaf_of("order", DType.INT64, DomainKind.FIXED),
        leaf_of("i", DType.INT64),
        leaf_of("one", DType.FLOAT32, shape=()),
    )
    draws = [
        {
            "x": torch.randperm(50, generator=torch.Generator().manual_seed(number)).float() + 1,
            "p": torch.softmax(drawn(number, DType.FLOAT64, (10, 5)), -1),
            "token": torch.arange(50) * 2,
            "flag": torch.arange(50) < 9,
            "order": torch.arange(50),
            "i": torch.arange(50),
            "one": torch.tensor(3.0),
        }
        for number in range(2)
    ]
    source = Supply(draws, leaves)
    seen = [contents for _ in range(3) for contents in source.round(10)]
    assert len({raw(one["x"]) for one in seen}) == len({raw(one["p"]) for one in seen}) == 30
    assert all(one["x"].dtype is torch.float32 and 1 <= one["x"].min() <= one["x"].max() <= 50 for one in seen)
    assert not any(in_order(one["x"]) == in_order(draws[0]["x"]) for one in seen), (
        "an old answer rearranged is no answer"
    )
    assert all(torch.allclose(one["p"].sum(-1), torch.ones(10).double()) and (one["p"] >= 0).all() for one in seen)
    for path in ("token", "flag"):
        assert all(in_order(one[path]) == in_order(draws[0][path]) for one in seen)
        assert len({raw(one[path]) for one in seen}) > 10
    assert all(torch.equal(one[path], draws[0][path]) for one in seen for path in ("order", "i", "one"))


@pytest.mark.parametrize("dtype", MIXABLE)
def test_every_floating_type_mixes(dtype):
    draws = [{"x": drawn(seed, dtype)} for seed in range(3)]
    source = Supply(draws, (leaf_of("x", dtype),))
    parts = torch.view_as_real if draws[0]["x"].is_complex() else torch.Tensor.clone
    low = min(float(parts(draw["x"]).min()) for draw in draws)
    high = max(float(parts(draw["x"]).max()) for draw in draws)
    known = {tuple(sorted(parts(draw["x"]).reshape(-1).tolist())) for draw in draws}
    seen = [contents["x"] for contents in source.round(20)]
    assert len({raw(one) for one in seen}) == 20
    for one in seen:
        assert one.dtype is torch_dtype(dtype) and one.shape == (50,)
        assert low - 1e-6 <= float(parts(one).min()) <= float(parts(one).max()) <= high + 1e-6
        assert tuple(sorted(parts(one).reshape(-1).tolist())) not in known
        # Truly between the draws: spread less widely than any of them, and not by rounding alone.
        assert float(parts(one).double().std()) < max(float(parts(draw["x"]).double().std()) for draw in draws)


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (DomainKind.PROBABILITY, lambda seed: 1 - torch.rand(400, generator=torch.Generator().manual_seed(seed)) / 100),
        (DomainKind.POSITIVE, lambda seed: torch.rand(400, generator=torch.Generator().manual_seed(seed)) / 1e4 + 1e-6),
        (DomainKind.FINITE, lambda seed: 6e4 * torch.sign(drawn(seed, shape=(400,)))),
    ],
)
def test_rounding_carries_nothing_out_of_its_domain(dtype, kind, values):
    draws = [{"x": values(seed).to(torch_dtype(dtype))} for seed in range(4)]
    low, high = (float(end(torch.stack([draw["x"] for draw in draws]))) for end in (torch.min, torch.max))
    for one in Supply(draws, (leaf_of("x", dtype, kind, (400,)),)).round(30):
        assert torch.isfinite(one["x"]).all()
        assert low <= float(one["x"].min()) <= float(one["x"].max()) <= high


@pytest.mark.parametrize("dtype", [DType.INT64, DType.BOOL])
def test_integers_do_not_mix_whatever_is_declared(dtype):
    draws = [{"x": torch.arange(50).to(torch_dtype(dtype))}, {"x": torch.arange(50).flip(0).to(torch_dtype(dtype))}]
    for one in Supply(draws, (leaf_of("x", dtype, DomainKind.REAL),)).round(3):
        assert one["x"].dtype is torch_dtype(dtype) and in_order(one["x"]) == in_order(draws[0]["x"])


def test_contents_are_the_same_however_often_they_are_asked_for():
    leaves = (leaf_of("x", DType.FLOAT32), leaf_of("p", DType.FLOAT32, DomainKind.DISTRIBUTION, (10, 5)))
    draws = [{"x": drawn(seed), "p": torch.softmax(drawn(seed, shape=(10, 5)), -1)} for seed in range(4)]
    contents = Supply(draws, leaves).round(7)
    assert len(contents) == 7 == len(list(contents))
    first = [{path: raw(each) for path, each in one.items()} for one in contents]
    assert [{path: raw(each) for path, each in contents[slot].items()} for slot in reversed(range(7))] == first[::-1]
    assert all(set(one) == {"x", "p"} for one in contents)
    with pytest.raises(IndexError):
        contents[7]


def test_rounds_differ_and_so_do_supplies_of_the_same_draws():
    draws = [{"x": drawn(seed)} for seed in range(4)]
    leaves = (leaf_of("x", DType.FLOAT32),)
    one, other = Supply(draws, leaves), Supply(draws, leaves)
    rounds = [[raw(contents["x"]) for contents in source.round(5)] for source in (one, one, other)]
    assert len({each for seen in rounds for each in seen}) == 15


def test_draws_are_left_as_they_were():
    draws = [{"x": drawn(seed), "i": torch.arange(50)} for seed in range(2)]
    before = [{path: raw(each) for path, each in draw.items()} for draw in draws]
    for _ in Supply(draws, (leaf_of("x", DType.FLOAT32), leaf_of("i", DType.INT64, DomainKind.INTEGER))).round(10):
        pass
    assert [{path: raw(each) for path, each in draw.items()} for draw in draws] == before


def test_tensors_that_do_not_lie_one_after_another_are_mixed_by_value():
    draws = [{"x": drawn(seed, shape=(2, 3, 4, 5)).to(memory_format=torch.channels_last)} for seed in range(2)]
    dense = [{"x": draw["x"].contiguous()} for draw in draws]
    leaves = (leaf_of("x", DType.FLOAT32, shape=(2, 3, 4, 5)),)
    contents = Supply(draws, leaves).round(3)
    same = type(contents)(Supply(dense, leaves), contents.blends)
    for one, other in zip(contents, same, strict=True):
        assert one["x"].shape == (2, 3, 4, 5) and torch.equal(one["x"], other["x"])


def test_one_draw_alone_is_mixed_with_itself():
    draws = [{"x": drawn(0)}]
    source = Supply(draws, (leaf_of("x", DType.FLOAT32),), random.Random(0))
    seen = {raw(contents["x"]) for contents in source.round(10)}
    assert len(seen) == 10 and raw(draws[0]["x"]) not in seen


def test_one_draw_of_distributions_is_never_the_same_twice():
    rows = torch.softmax(drawn(0, DType.FLOAT64, (64, 5)), -1)
    source = Supply([{"p": rows}], (leaf_of("p", DType.FLOAT64, DomainKind.DISTRIBUTION, (64, 5)),))
    seen = [contents["p"] for contents in source.round(20)]
    assert len({raw(one) for one in seen}) > 15
    assert all(torch.allclose(one.sum(-1), torch.ones(64).double()) for one in seen)


def test_what_adds_up_one_draw_alone_finds_another_sum_in_every_call():
    values = torch.rand(1 << 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    source = Supply([{"x": values}], (leaf_of("x", DType.FLOAT64, shape=(1 << 12,)),), random.Random(0))
    sums = torch.stack([contents["x"].sum() for contents in source.round(20)])
    apart = (sums[:, None] - sums).abs()[~torch.eye(20, dtype=torch.bool)]
    independent = (2 * len(values) / 12) ** 0.5
    assert apart.median() > independent / 20


def test_parts_are_mixed_as_the_whole_is(monkeypatch):
    draws = [{"x": drawn(seed, shape=(97,))} for seed in range(2)]
    contents = Supply(draws, (leaf_of("x", DType.FLOAT32, shape=(97,)),)).round(9)
    whole = [raw(one["x"]) for one in contents]
    monkeypatch.setattr(blends, "PART", 10)
    assert [raw(one["x"]) for one in contents] == whole


@pytest.mark.parametrize(
    ("leaf", "draws"),
    [
        (leaf_of("x", DType.FLOAT32, shape=(4, 3)), 1),
        (leaf_of("x", DType.FLOAT32, DomainKind.DISTRIBUTION, (4, 3)), 1),
        (leaf_of("x", DType.FLOAT32, DomainKind.DISTRIBUTION, (12,)), 2),
        (leaf_of("x", DType.FLOAT32, DomainKind.FIXED, (4, 3)), 2),
        (leaf_of("x", DType.FLOAT32, shape=()), 2),
    ],
)
def test_what_a_roll_does_not_tell_apart_is_drawn_twice_however_large(leaf, draws):
    court = SimpleNamespace(
        description=description(inputs=(leaf,), outputs=()),
        target=replace(TARGET, memory=(MemoryLevel(name="memory", size_bytes=1),)),
        parameters=lambda draw: {},
        draw_inputs=lambda distribution: {"x": torch.ones(leaf.tensor.shape)},
    )
    assert len(supply(court).draws) == draws


@pytest.mark.parametrize(("moves", "gib", "distinct"), [(True, 1, 32), (True, 0, 2), (False, 1, 1)])
def test_what_keeps_its_meaning_and_differs_from_draw_to_draw_is_drawn_anew_for_every_call(moves, gib, distinct):
    """Beside an input that is told apart by its mixture, too: what takes the time may follow from the other alone."""
    drawn_so_far = []

    def draw_inputs(distribution):
        drawn_so_far.append(None)
        return {"x": torch.randn(8), "fixed": torch.full((3,), float(len(drawn_so_far) if moves else 1))}

    court = SimpleNamespace(
        description=description(inputs=(leaf_of("x", DType.FLOAT32, shape=(8,)), FIXED), outputs=()),
        target=replace(TARGET, memory=(MemoryLevel(name="memory", size_bytes=max(1, gib << 30)),)),
        parameters=lambda draw: {},
        draw_inputs=draw_inputs,
    )
    if not gib:
        court.description = description(inputs=(FIXED,), outputs=())
    source = supply(court)
    assert source.fewer(256) == (32 if moves else 256)
    one, other = ([float(each["fixed"][0]) for each in source.round(source.fewer(256))] for _ in range(2))
    assert len(set(one)) == distinct
    assert not moves or not set(one) & set(other)


def test_elements_in_another_order_are_the_same_elements():
    """By rolls, of distributions by whole rows; what has no order to lose comes from elsewhere."""
    kinds = {"real": None, "rows": DomainKind.DISTRIBUTION, "fixed": DomainKind.FIXED}
    leaves = [leaf_of(path, DType.FLOAT32, kind, (6, 5)) for path, kind in kinds.items()]
    inputs = {path: drawn(1, shape=(6, 5)) for path in kinds}
    beside = {path: drawn(2, shape=(6, 5)) for path in kinds}
    found = slots.rearranged(inputs, leaves, beside)
    assert in_order(found["real"]) == in_order(inputs["real"]) and not torch.equal(found["real"], inputs["real"])
    assert sorted(found["rows"].tolist()) == sorted(inputs["rows"].tolist())
    assert not torch.equal(found["rows"], inputs["rows"])
    assert found["fixed"] is beside["fixed"]
