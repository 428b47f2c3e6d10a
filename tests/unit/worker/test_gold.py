"""The reference in double precision, and the honest-rounding model around it."""

import math

import pytest
import torch

from strop.records.contract import CONTRACTS
from strop.records.tensor import DType
from strop.records.workload import Mode
from strop.stats.figures import smallest_error
from strop.worker.describe import describe
from strop.worker.gold import Oracle
from strop.worker.operators import OpClass, classify, reduction_length
from strop.worker.rounding import Rounding
from strop.worker.runner import is_running_statistic
from strop.worker.workloads import build_module
from tests.unit.worker.opening import SEED, model, opened, opened_text

aten = torch.ops.aten


def fixed_of(workload):
    named = (*workload.module.named_parameters(), *workload.module.named_buffers())
    return {name: each.detach().clone() for name, each in named}


def oracle_of(workload):
    return Oracle(workload, describe(workload))


def answers(tmp_path, text, **options):
    """The workload's answer in its own precision, and the expected one."""
    workload = opened_text(tmp_path, text, **options)
    oracle, fixed, inputs = oracle_of(workload), fixed_of(workload), workload.fresh_sample()
    own = workload.call(workload.module, {path: tensor.clone() for path, tensor in inputs.items()})
    return own, oracle.answer(fixed, inputs).outputs["out"], (workload, oracle, fixed, inputs)


PRECISE = [
    ("return F.softmax(x, -1, dtype=torch.float32) @ self.w", "self.w = nn.Parameter(torch.randn(6, 6))"),
    ("return (x.float() @ self.w.float()).sum(-1)", "self.w = nn.Parameter(torch.randn(6, 6))"),
    ("return x @ self.w", "self.w = torch.randn(6, 6)"),
    ("return x @ TABLE", ""),
    ("return x @ torch.full((6, 6), 0.1)", ""),
    ("return x * torch.tensor(0.1)", ""),
    ("return F.layer_norm(x.to(torch.float32), (6,)).type_as(x)", ""),
]


@pytest.mark.parametrize(("forward", "init"), PRECISE, ids=[forward for forward, _ in PRECISE])
def test_whatever_the_code_asks_for_is_done_in_double_precision(tmp_path, forward, init):
    text = model(forward, "[torch.randn(5, 6)]", init=init, head="TABLE = torch.randn(6, 6)")
    own, expected, (workload, oracle, fixed, inputs) = answers(tmp_path, text)
    assert expected.dtype is torch.float64
    assert (own - expected).abs().max() < 1e-5
    # Exact in fp32 and fp64 alike are only the inputs; the results must differ, and not be fp32 numbers.
    assert not torch.equal(expected, expected.float().double())
    del workload, oracle, fixed, inputs


def test_numbers_that_come_from_the_element_type_keep_their_value(tmp_path):
    own, expected, _ = answers(tmp_path, model("return F.rms_norm(x, (6,))", "[torch.randn(5, 6) * 1e-4]"))
    assert ((own - expected) / expected).abs().max() < 1e-6
    masked = "return F.softmax(torch.full_like(x, torch.finfo(x.dtype).min) + x.abs() * 1e38, -1)"
    own, expected, _ = answers(tmp_path, model(masked, "[torch.rand(2, 4)]"))
    assert torch.equal(own.double(), expected)


def test_state_starts_from_what_was_delivered():
    workload = opened("mlp")
    oracle, fixed, inputs = oracle_of(workload), fixed_of(workload), workload.fresh_sample()
    one, two = oracle.answer(fixed, inputs), oracle.answer(fixed, inputs)
    assert torch.equal(one.buffers["norm.running_mean"], two.buffers["norm.running_mean"])
    assert two.buffers["norm.num_batches_tracked"] == 1
    assert two.buffers["norm.running_mean"].dtype is torch.float64
    fixed["second.bias"] += 1.0
    moved = oracle.answer(fixed, inputs)
    assert torch.allclose(moved.outputs["out"], one.outputs["out"] + 1.0)


def test_mutated_inputs_are_part_of_the_answer():
    workload = opened("cache")
    oracle, fixed, inputs = oracle_of(workload), fixed_of(workload), workload.fresh_sample()
    before = inputs["args[1]"].clone()
    answer = oracle.answer(fixed, inputs)
    assert torch.equal(inputs["args[1]"], before)
    assert not torch.equal(answer.inputs["args[1]"], before.double())
    assert answer.buffers["seen"] == 1


def test_half_precision_models_are_widened(tmp_path):
    text = model("return self.l(x)", "[torch.randn(4, 8).bfloat16()]", init="self.l = nn.Linear(8, 8).bfloat16()")
    own, expected, (_, oracle, _, _) = answers(tmp_path, text)
    assert own.dtype is torch.bfloat16
    assert expected.dtype is torch.float64
    assert oracle.own is torch.bfloat16
    assert 0 < (own.double() - expected).abs().max() < 0.1


def moved(found, seed=1, contract="fp32-strict"):
    _, oracle, fixed, inputs = found
    return oracle.answer(fixed, inputs, Rounding(CONTRACTS[contract], oracle.own, seed)).outputs["out"]


EXACT = ["x.t()", "x.flip(0)", "x[:, 1:]", "torch.cat([x, x])", "x.abs()", "F.relu(x)", "x.clamp(-1, 1)", "-x"]
EXACT += ["x.max(-1).values", "F.pad(x, (1, 1))", "torch.where(x > 0, x, 0.0)", "F.max_pool1d(x, 2)", "x.sort().values"]


@pytest.mark.parametrize("expression", EXACT)
def test_what_rounds_nowhere_is_not_moved(tmp_path, expression):
    _, expected, found = answers(tmp_path, model(f"return {expression}", "[torch.randn(4, 6)]"))
    assert torch.equal(moved(found), expected)


ROUNDED = ["x * 1.1", "x.exp()", "F.softmax(x, -1)", "F.layer_norm(x, (64,))", "x @ x.t()", "x.cumsum(0)", "x.mean(0)"]
ROUNDED += ["(torch.complex(x, x * 1.1) + x * 1.1).real", "x * 1.1 + (x > 0)", "x * 2.0**63 + 2**63"]


@pytest.mark.parametrize("expression", ROUNDED)
def test_honest_rounding_is_of_the_size_of_real_rounding(tmp_path, expression):
    own, expected, found = answers(tmp_path, model(f"return {expression}", "[torch.randn(64, 64)]"))
    real = (own.double() - expected).abs().max()
    honest = (moved(found) - expected).abs().max()
    assert real / 4 < honest < 60 * real


def test_errors_follow_the_seed_and_the_contract(tmp_path):
    _, expected, found = answers(tmp_path, model("return x @ x", "[torch.randn(32, 32)]"))
    assert torch.equal(moved(found, 1), moved(found, 1))
    assert not torch.equal(moved(found, 1), moved(found, 2))
    strict = (moved(found) - expected).abs().max()
    loose = (moved(found, contract="tf32") - expected).abs().max()
    assert 2**11 < loose / strict < 2**15


def test_cancellation_inside_a_norm_shows(tmp_path):
    text = model("return F.layer_norm(x, (64,))", "[torch.randn(8, 64) + 1000.0]")
    own, expected, found = answers(tmp_path, text)
    real = (own.double() - expected).abs().max()
    assert (moved(found) - expected).abs().max() > real / 4
    assert (moved(found) - expected).abs().max() > 1e-5


def test_chance_is_left_alone():
    workload = opened("chance")
    oracle, fixed, inputs = oracle_of(workload), fixed_of(workload), workload.fresh_sample()
    plain = oracle.answer(fixed, inputs).outputs["out"]
    honest = oracle.answer(fixed, inputs, Rounding(CONTRACTS["fp32"], oracle.own, 1)).outputs["out"]
    assert torch.allclose(plain, honest, rtol=1e-4)


def test_zeros_and_special_values_are_not_moved():
    mode = Rounding(CONTRACTS["fp32"], torch.float32, 1)
    values = torch.tensor([0.0, math.inf, -math.inf, math.nan, 1.0, -1.0], dtype=torch.float64)
    before = values.clone()
    mode.move(values, 1e-3)
    assert torch.equal(values[:3], before[:3])
    assert torch.isnan(values[3])
    assert not torch.equal(values[4:], before[4:])


@pytest.mark.parametrize("shape", [(), (7,), (3, 50), (50, 3), (2, 3, 40)])
def test_large_results_are_moved_in_parts_by_the_same(monkeypatch, shape):
    drawn = torch.randn(shape, dtype=torch.float64)
    for whole in (drawn.clone(), drawn.clone().t() if len(shape) == 2 else drawn.clone()):
        in_parts = whole.clone(memory_format=torch.preserve_format)
        Rounding(CONTRACTS["fp32"], torch.float32, 1).move(whole, 1e-3)
        with monkeypatch.context() as patch:
            patch.setattr("strop.worker.rounding.PART_ON_HOST", 8)
            Rounding(CONTRACTS["fp32"], torch.float32, 1).move(in_parts, 1e-3)
        assert torch.equal(in_parts, whole)


def test_running_statistics_are_moved_in_place():
    workload = opened("mlp")
    oracle, fixed, inputs = oracle_of(workload), fixed_of(workload), workload.fresh_sample()
    plain = oracle.answer(fixed, inputs).buffers["norm.running_mean"].clone()
    honest = oracle.answer(fixed, inputs, Rounding(CONTRACTS["fp32"], oracle.own, 1)).buffers["norm.running_mean"]
    assert 0 < (plain - honest).abs().max() < 1e-6


def test_classes_and_lengths():
    assert classify(aten.view.default) is OpClass.EXACT
    assert classify(aten.addmm.default) is OpClass.MATMUL
    assert classify(aten.convolution.default) is OpClass.CONV
    assert classify(aten.mul_.Tensor) is OpClass.OTHER
    a, b = torch.ones(3, 5), torch.ones(5, 7)
    assert reduction_length(aten.mm.default, [a, b], {}, a @ b) == 5
    assert reduction_length(aten.addmm.default, [torch.ones(7), a, b], {}, a @ b) == 5
    x, w = torch.ones(1, 4, 9, 9), torch.ones(6, 2, 3, 3)
    arguments = [x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 2]
    assert reduction_length(aten.convolution.default, arguments, {}, aten.convolution(*arguments)) == 18
    assert reduction_length(aten.sum.default, [a], {}, a.sum()) == 15
    assert reduction_length(aten.mul.Tensor, [a, a], {}, a) == 1
    assert reduction_length(aten.avg_pool2d.default, [x, [3, 3]], {}, aten.avg_pool2d(x, [3, 3])) == 9


def test_building_follows_the_seed():
    workload = opened("mlp")
    other = build_module(workload.brought, Mode.TRAIN, "cpu", SEED + 1)
    assert not torch.equal(other.first.weight, workload.module.first.weight)
    assert is_running_statistic("norm.running_var")
    assert not is_running_statistic("norm.num_batches_tracked")


def tf32(values, *, drop):
    """Operands as a TF32 unit takes them: 13 bits fewer, dropped or rounded to the nearest."""
    bits = values.float().view(torch.int32)
    rounded = bits if drop else bits + ((bits >> 13) & 1) + 0xFFF
    return (rounded & ~0x1FFF).view(torch.float32).double()


UNITS = {
    "tf32, rounded": ("tf32", lambda x: tf32(x, drop=False), DType.FLOAT32),
    "tf32, dropped": ("tf32", lambda x: tf32(x, drop=True), DType.FLOAT32),
    "bf16": ("bf16", lambda x: x.bfloat16().double(), DType.BFLOAT16),
    "fp16": ("fp16", lambda x: x.half().double(), DType.FLOAT16),
}
INPUTS = {
    "normal": lambda *shape: torch.randn(shape),
    "positive": lambda *shape: torch.rand(shape),
    "log-normal": lambda *shape: torch.exp(1.5 * torch.randn(shape)),
    "constant rows": lambda *shape: torch.randn(shape[0], 1).expand(shape),
    "offsets": lambda *shape: torch.randn(shape) + 100 * torch.randn(shape[0], 1),
}


@pytest.mark.parametrize("length", [8, 512, 4096])
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("unit", UNITS)
def test_what_a_matrix_unit_does_is_honest_and_little_more_is(unit, inputs, length):
    """Operands in the contract's type, sums in single precision or better, the result stored once more: twice the
    model's error must cover that, whatever the length of the sum, and must not be worth much more than it.
    """
    torch.manual_seed(length)
    contract, operand, stored = UNITS[unit]
    x, w = INPUTS[inputs](128, length), torch.randn(length, 64) / math.sqrt(length)
    expected = x.double() @ w.double()
    real = (operand(x) @ operand(w)).to(getattr(torch, stored.value)).double()
    floor = smallest_error(expected, stored)
    with Rounding(CONTRACTS[contract], torch.float32, 1):
        honest = x.double() @ w.double()
    for quantile in (0.5, 0.99, 1.0):
        size = (real - expected).abs().quantile(quantile)
        allowed = 2 * (honest - expected).abs().quantile(quantile) + floor
        assert size < allowed < 40 * size, quantile
