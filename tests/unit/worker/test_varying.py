"""What a workload claims beyond its own inputs, and its own inputs made to fit."""

from itertools import count

import pytest
import torch

from strop.errors import BadWorkload
from strop.records.evidence import Distribution
from strop.records.tensor import DType, Symbol, TensorSpec
from strop.records.workload import Leaf, Variant
from strop.wire.messages import ChildRole, Describe, Done, Expect, Vary
from strop.worker.describe import describe, describe_variant
from strop.worker.draws import draw_inputs
from strop.worker.gold import Oracle
from strop.worker.leaves import Call
from strop.worker.varying import claimed, fitted, read_layouts
from tests.unit.worker.client import Child
from tests.unit.worker.opening import model, opened_text
from tests.unit.worker.test_gold import fixed_of


def leaf(path, *shape, stride=None):
    return Leaf(path=path, tensor=TensorSpec(shape=shape, dtype=DType.FLOAT32, stride=stride))


INPUTS = (leaf("args[0]", 8, 16), leaf("kwargs['mask']", 8, 4))


def test_a_claim_names_dimensions_of_inputs():
    written = {"x": {0: ("batch", 1, 64), -1: (4, None)}, "mask": {0: "batch"}}
    batch, length = Symbol(name="batch", low=1, high=64), Symbol(name="args[0].shape[1]", low=4, high=None)
    assert [each.tensor.shape for each in claimed(written, INPUTS, ("x",))] == [(batch, length), (batch, 4)]
    assert claimed({}, INPUTS, ()) == ()


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ([(1, 64)], "is a dictionary"),
        ({"x": (1, 64)}, "is a dictionary"),
        ({"y": {0: (1, 64)}}, "no input"),
        ({"x": {2: (1, 64)}}, "which has 2"),
        ({"x": {"rows": (1, 64)}}, "which has 2"),
        ({"x": {0: 64}}, "write (low, high)"),
        ({"x": {0: (0, 64)}}, "begin at 1"),
        ({"x": {0: (9, 8)}}, "begin at 1"),
        ({"x": {0: (9, 64)}}, "widen it"),
        ({"x": {0: (1, 4)}}, "widen it"),
        ({"x": {0: "batch"}}, "no range"),
        ({"x": {0: ("n", 1, 64), 1: "n"}}, "sizes that differ"),
        ({"x": {0: ("n", 1, 64)}, "mask": {0: ("n", 1, 32)}}, "'n' two ranges"),
    ],
)
def test_a_claim_that_cannot_be_meant_says_what_to_write(written, says):
    with pytest.raises(BadWorkload) as error:
        claimed(written, INPUTS, ("x",))
    assert says in str(error.value)


def test_layouts_are_a_word():
    assert read_layouts("any", "LAYOUTS") and not read_layouts("own", "LAYOUTS") and not read_layouts(None, "LAYOUTS")
    with pytest.raises(BadWorkload, match="write 'any'"):
        read_layouts(True, "LAYOUTS")


NORM = model(
    "return F.batch_norm(x, None, None, training=True) * k",
    "[torch.randn(8, 6), 2]",
    arguments="self, x, k",
    head="SHAPES = {'x': {0: (1, 32)}}\nLAYOUTS = 'any'",
)


def test_own_inputs_are_cut_continued_and_laid_out(tmp_path):
    own = opened_text(tmp_path, NORM)
    longer = own.at(Variant(inputs=(leaf("args[0]", 19, 6, stride=(1, 19)),)))
    sample = longer.sample["args[0]"]
    assert sample.shape == (19, 6) and sample.stride() == (1, 19)
    # What was there already is not there again: equal elements would tie, and one period would do for all.
    assert len(sample.unique()) == sample.numel()
    assert longer.module is own.module and longer.shape.build(longer.sample).args[1] == 2
    assert own.at(Variant(inputs=(leaf("args[0]", 3, 6),))).sample["args[0]"].shape == (3, 6)
    assert torch.equal(fitted(own.brought.draw, ())().args[0][:0], torch.empty(0, 6))


def test_longer_inputs_belong_together_as_their_pieces_do():
    numbers = count()

    def draw():
        number = float(next(numbers))
        return Call((torch.full((2, 3), number), torch.full((2,), number)))

    longer = fitted(draw, (leaf("args[0]", 5, 7), leaf("args[1]", 5)))().args
    assert longer[0][:, :3].tolist() == [[0.0] * 3] * 2 + [[1.0] * 3] * 2 + [[2.0] * 3]
    assert longer[0][0].tolist() == [0.0] * 3 + [3.0] * 3 + [6.0]
    assert longer[1].tolist() == [0.0, 0.0, 1.0, 1.0, 2.0] and next(numbers) == 9


def test_a_variant_is_described_and_answered(tmp_path):
    own = opened_text(tmp_path, NORM)
    reference = describe(own)
    assert reference.description.claims and reference.description.any_layout
    there = own.at(Variant(inputs=(leaf("args[0]", 5, 6),)))
    found = describe_variant(there, reference)
    assert [each.tensor.shape for each in (*found.description.inputs, *found.description.outputs)] == [(5, 6)] * 2
    assert found.description.inputs[0].domain == reference.description.inputs[0].domain
    inputs = draw_inputs(there, found.description.inputs, (), 3, Distribution.NORMAL)
    oracle = Oracle(own, reference)
    answer = oracle.at(there, found).answer(fixed_of(own), inputs).outputs["out"]
    assert answer.shape == (5, 6) and answer.mean(0).abs().max() < 1e-12
    assert oracle.answer(fixed_of(own), own.fresh_sample()).outputs["out"].shape == (8, 6)


def test_results_of_another_structure_are_no_variant(tmp_path):
    own = opened_text(tmp_path, model("return x.split(4)", "[torch.randn(8, 6)]"))
    with pytest.raises(BadWorkload, match="another structure"):
        describe_variant(own.at(Variant(inputs=(leaf("args[0]", 9, 6),))), describe(own))


def test_sets_of_other_arguments_are_drawn_from(tmp_path):
    samples = "[[torch.ones(4)], [torch.full((2,), 1.0)], [torch.full((2,), 2.0)], [torch.ones(7)]]"
    own = opened_text(tmp_path, model("return x", "[]") + f"\ndef get_samples(): return {samples}")
    assert not own.brought.varies and describe(own).description.other_samples == 2
    pair = own.at(Variant(sample=1))
    assert pair.brought.varies and pair.sample["args[0]"].shape == (2,)
    assert not own.at(Variant(sample=2)).brought.varies


def test_a_child_turns_to_a_variant_and_back(tmp_path):
    (tmp_path / "norm.py").write_text(NORM, encoding="utf-8")
    with Child(ChildRole.REFERENCE) as child:
        child.open(tmp_path / "norm.py")
        own = child.describe()
        for variant in (Variant(inputs=(leaf("args[0]", 5, 6, stride=(1, 5)),)), None):
            child.ask(Vary(variant=variant), Done)
            there = child.describe()
            child.map(there, wide=True)
            child.draw(0, 3, Distribution.NORMAL)
            child.ask(Expect(slot=0), Done)
            assert child.results()["out"].mean(0).abs().max() < 1e-12
        assert there == own
        # Of one row there are no statistics: torch says so itself.
        child.ask(Vary(variant=Variant(inputs=(leaf("args[0]", 1, 6),))), Done)
        assert "Expected more than 1 value" in child.fails(Describe()).detail
