"""Inputs that follow from results: alike on both sides of the wall, other ones for every bit, within their domains."""

import pytest
import torch

from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Domain, DomainKind, Leaf
from strop.wire import chain as chains
from strop.wire.chain import Chain
from strop.wire.tensors import bits

LEAVES = (
    Leaf(path="x", tensor=TensorSpec(shape=(6, 50), dtype=DType.FLOAT32)),
    Leaf(
        path="p",
        tensor=TensorSpec(shape=(40, 5), dtype=DType.FLOAT64),
        domain=Domain(kind=DomainKind.DISTRIBUTION),
    ),
    Leaf(path="i", tensor=TensorSpec(shape=(90,), dtype=DType.INT64), domain=Domain(kind=DomainKind.INTEGER)),
    Leaf(path="order", tensor=TensorSpec(shape=(9,), dtype=DType.INT64), domain=Domain(kind=DomainKind.FIXED)),
)
DRAWS = [
    {
        "x": torch.randn(6, 50, generator=torch.Generator().manual_seed(seed)),
        "p": torch.softmax(torch.randn(40, 5, generator=torch.Generator().manual_seed(seed)).double(), -1),
        "i": torch.arange(90) + seed,
        "order": torch.arange(9),
    }
    for seed in range(2)
]
KEY = 0x9876_5432_1234_5678


def inputs_of(before, *, key=KEY, index=3):
    return Chain(key, LEAVES, DRAWS).inputs(index, before)


def same(one, other):
    return all(torch.equal(one[path], other[path]) for path in one)


def test_who_knows_key_results_and_draws_makes_the_same_inputs():
    results = {"out": torch.randn(33), "mask": torch.rand(7) < 0.5}
    copies = {path: results[path].clone() for path in reversed(results)}
    assert same(inputs_of(results), inputs_of(copies))
    assert not same(inputs_of(results), inputs_of(results, key=KEY + 1))
    assert not same(inputs_of(results), inputs_of(results, index=4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.complex128, torch.int64])
@pytest.mark.parametrize("count", [1, 7, 1024, 5000])
def test_every_bit_of_the_results_counts(dtype, count):
    results = {"out": torch.zeros(count, dtype=dtype)}
    seed = Chain(KEY, LEAVES, DRAWS)._seed
    seen = {seed(3, results)}
    raw = results["out"].view(torch.uint8)
    places = {0, raw.numel() // 2, raw.numel() - 1}
    for place in places:
        for bit in range(8):
            raw[place] ^= 1 << bit
            seen.add(seed(3, results))
            raw[place] ^= 1 << bit
    assert len(seen) == 1 + 8 * len(places)


def test_the_highest_bits_of_two_words_do_not_cancel():
    one, other = torch.ones(64), torch.ones(64)
    other[1] = other[5] = -1.0
    assert not same(inputs_of({"out": one}), inputs_of({"out": other}))
    swapped = torch.arange(2048.0)
    turned = torch.cat((swapped[1024:], swapped[:1024]))
    assert not same(inputs_of({"out": swapped}), inputs_of({"out": turned}))


def test_what_is_made_stays_in_its_domain():
    for seed in range(20):
        made = inputs_of({"out": torch.tensor([float(seed)])})
        assert torch.allclose(made["p"].sum(-1), torch.ones(40, dtype=torch.float64))
        assert any(torch.equal(torch.sort(made["i"]).values, draw["i"]) for draw in DRAWS)
        assert torch.equal(made["order"], torch.arange(9))
        assert all(bits(made["x"]).ne(bits(draw["x"])).any() for draw in DRAWS)


def test_results_beyond_all_levels_are_refused(monkeypatch):
    monkeypatch.setattr(chains, "WIDTH", 2)
    with pytest.raises(OverflowError):
        inputs_of({"out": torch.zeros(512)})
