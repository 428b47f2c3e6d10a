"""The smaller parts: products that algebra cannot remove, memory, modes, buffers as state, bytes and strides."""

import random
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.capture import capture
from strop.errors import BadCandidate
from strop.lowering.recipes import rehearse
from strop.records.contract import CONTRACTS
from strop.records.evidence import Stage
from strop.records.recipe import parse_recipe
from strop.records.workload import SourceKind
from strop.targets._arithmetic import set_math_modes
from strop.wire.tensors import same_bits
from strop.worker import forms, questions
from strop.worker.describe import describe
from strop.worker.gold import Oracle
from strop.worker.guard import Blamed, contained, foreign
from strop.worker.memory import RESOLUTION_BYTES, host_peak_bytes
from strop.worker.modes import calling, seeded
from strop.worker.rounding import Rounding
from strop.worker.spy import Spy
from strop.worker.state import changed, restore, snapshot
from strop.worker.tensors import like, memory_of, overlaps_itself, share_memory
from tests.unit.worker.client import TARGET
from tests.unit.worker.opening import model, opened, opened_text


class Net(torch.nn.Module):
    def __init__(self, forward, *shapes):
        super().__init__()
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.randn(shape)) for shape in shapes])
        self.function = forward

    def forward(self, x):
        return self.function(x, *self.weights)


def test_peak_memory_is_that_of_the_call():
    def big():
        return torch.zeros(8 << 20, dtype=torch.float32).add_(1)

    held = 4 * (8 << 20)
    assert held * 0.9 < host_peak_bytes(big) < held * 1.5
    assert host_peak_bytes(lambda: torch.zeros(10)) == 0
    assert held > RESOLUTION_BYTES


def test_math_modes_are_stated_through_one_interface():
    before = torch.backends.cuda.matmul.fp32_precision
    try:
        set_math_modes(CONTRACTS["tf32"])
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
        set_math_modes(CONTRACTS["fp32"])
        assert torch.backends.cuda.matmul.fp32_precision == "ieee"
        assert torch.backends.cudnn.conv.fp32_precision == "tf32"
        assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


def test_gradients_and_lower_precision_are_in_force_around_a_call():
    with calling(CONTRACTS["fp32"], "cpu", grad=False):
        assert not torch.is_grad_enabled()
        assert not torch.is_autocast_enabled("cpu")
    with calling(CONTRACTS["bf16"], "cpu", grad=True):
        assert torch.is_grad_enabled()
        assert (torch.randn(4, 4) @ torch.randn(4, 4)).dtype is torch.bfloat16


def test_seeds_hold_inside_and_nothing_changes_outside():
    def drawn():
        return float(torch.rand(())), float(np.random.rand()), random.random()

    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    with seeded(2**40 + 3):
        first = drawn()
    with seeded(2**40 + 3):
        assert drawn() == first
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]
    assert random.getstate() == before[2]


def test_buffers_are_put_back_in_place_or_anew():
    module = torch.nn.BatchNorm1d(3)
    saved, mean = snapshot(module), module.running_mean
    module(torch.randn(5, 3))
    module.num_batches_tracked = torch.zeros(2)
    assert changed(module, saved) == ("running_mean", "running_var", "num_batches_tracked")
    restore(module, saved)
    assert changed(module, saved) == ()
    assert module.running_mean is mean
    assert module.num_batches_tracked.shape == ()


def test_bits_are_compared_not_values():
    nan = torch.tensor([float("nan")])
    assert same_bits(nan, nan.clone())
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not same_bits(torch.zeros(2), torch.zeros(2, dtype=torch.int32))
    assert same_bits(torch.zeros(0), torch.zeros(0))
    assert same_bits(torch.arange(6).reshape(2, 3).t(), torch.arange(6).reshape(2, 3).t().contiguous())


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_layouts_that_can_be_written_to_are_known(shape, chance):
    order = list(range(len(shape)))
    chance.shuffle(order)
    tensor = torch.arange(int(np.prod(shape))).reshape(shape).permute(order)
    assert not overlaps_itself(tensor)
    assert torch.equal(like(tensor), tensor)
    assert like(tensor).stride() == tensor.stride()
    wide = tensor.unsqueeze(0).expand(3, *tensor.shape)
    assert overlaps_itself(wide)


def test_memory_is_shared_by_views_alone():
    one, other = torch.zeros(8), torch.zeros(8)
    assert share_memory(memory_of(one), memory_of(one[2:4]))
    assert not share_memory(memory_of(one), memory_of(other))
    assert not share_memory(memory_of(torch.zeros(0)), memory_of(one))


def test_blame_stays_where_it_was_first_laid():
    with pytest.raises(Blamed) as caught, foreign("strop", "The outer"), foreign("candidate", "The inner", "Mend it."):
        raise ValueError("first line\nsecond line")
    assert (caught.value.who, caught.value.error) == ("candidate", "ValueError")
    assert caught.value.detail == "The inner raised ValueError: first line. Mend it."


def test_every_failure_is_an_answer():
    def with_surrogates():
        raise BadCandidate("broken \ud800 text")

    raised = contained(Stage.BUILD, with_surrogates)
    assert (raised.who, raised.error) == ("candidate", "BadCandidate")
    raised.detail.encode("utf-8")
    raised = contained(Stage.TIME, lambda: 1 / 0)
    assert (raised.who, raised.stage) == ("strop", Stage.TIME)
    assert "ZeroDivisionError" in raised.trace
    assert contained(Stage.TIME, lambda: 5) == 5


def test_the_shelves_of_the_worker_are_complete():
    assert set(forms.SHELF.names()) == {"eager", "compiled", "null", "recipe", "source", "module"}
    asked = {"capture", "memory", "profile", "proposals", "launches", "counters", "regions"}
    assert {item.name for item in questions.SHELF} == asked
    assert all(item.summary for item in (*forms.SHELF, *questions.SHELF))


def test_what_a_compiler_needs_is_imported_when_it_is_needed():
    script = "import sys, strop.worker.__main__; print([name for name in sys.modules if name == 'torch._dynamo'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


def test_a_recipe_is_tried_on_every_graph():
    def pooled(x):
        return torch.nn.functional.avg_pool2d(x, 2)

    graphs = [each.module for each in capture(Net(pooled), (torch.randn(1, 4, 16, 16),)).modules]
    assert rehearse(parse_recipe(""), graphs, TARGET) == {}
    with pytest.raises(BadCandidate, match="linear_then_sum does not apply"):
        rehearse(parse_recipe("linear_then_sum"), graphs, TARGET)
    with pytest.raises(BadCandidate, match="does not apply at nowhere"):
        rehearse(parse_recipe("avg_pool_as_conv{at=nowhere}"), graphs, TARGET)
    before = str(graphs[0].graph)
    rehearse(parse_recipe("avg_pool_as_conv"), graphs, TARGET)
    assert str(graphs[0].graph) != before


def test_the_spy_sees_numbers_and_chance():
    with Spy() as spy:
        torch.dropout(torch.randn(4).clamp(min=-0.75) + 2, 0.5, True)
    assert {-0.75, 2.0} <= set(spy.constants)
    assert spy.random_ops
    with Spy() as quiet:
        torch.nn.functional.scaled_dot_product_attention(*(torch.ones(1, 1, 2, 4) for _ in range(3)))
    assert not quiet.random_ops


@pytest.mark.parametrize(
    ("call", "chooses"),
    [
        (lambda x: x.argmax(-1), True),
        (lambda x: torch.topk(x, 2).values, True),
        (lambda x: torch.nn.functional.max_pool1d(x[None], 2), True),
        (lambda x: (x > 0, torch.round(x).to(torch.int8), x.isnan()), False),
        (lambda x: x.cumsum(-1) @ x.t(), False),
        (lambda x: (x > 0).cumsum(-1), False),
    ],
)
def test_the_spy_sees_who_chooses_among_equal_elements(call, chooses):
    with Spy() as spy:
        call(torch.randn(4, 6))
    assert spy.chooses is chooses


def test_programs_and_gradients_have_a_reference_too(tmp_path):
    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 3)

        def forward(self, x):
            return torch.softmax(self.layer(x.to(torch.float32)), -1, dtype=torch.float32)

    path = tmp_path / "inner.pt2"
    torch.export.save(torch.export.export(Inner(), (torch.randn(2, 4),)), path)
    found = opened(str(path), kind=SourceKind.PROGRAM)
    oracle = Oracle(found, describe(found))
    fixed = {name: each.detach() for name, each in found.module.named_parameters()}
    answer = oracle.answer(fixed, found.sample)
    own = found.call(found.module, found.sample)
    assert answer.outputs["out"].dtype is torch.float64
    assert 0 < (answer.outputs["out"] - own).abs().max() < 1e-6
    honest = oracle.answer(fixed, found.sample, Rounding(CONTRACTS["fp32"], oracle.own, 1))
    assert 0 < (answer.outputs["out"] - honest.outputs["out"]).abs().max() < 1e-5


def test_a_model_that_differentiates_itself(tmp_path):
    forward = "y = x.detach().requires_grad_(); return GRAD(torch.autograd.grad)(lambda: (y ** 3).sum(), y)"
    head = """
def GRAD(grad):
    def of(function, y):
        with torch.enable_grad():
            return grad(function(), y)[0]
    return of
"""
    found = opened_text(tmp_path, model(forward, "[torch.randn(5)]", head=head))
    oracle = Oracle(found, describe(found))
    expected = oracle.answer({}, found.sample).outputs["out"]
    assert torch.allclose(expected, 3 * found.sample["args[0]"].double() ** 2)
