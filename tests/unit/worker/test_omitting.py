"""The reference without one of its operators: what it hands back instead, and how operators are called."""

import pytest
import torch

from strop.wire.messages import ChildRole, Raised
from strop.wire.omission import Omit, Omitted
from strop.worker.handlers import handle
from strop.worker.omitting import Omitting
from strop.worker.session import Session
from tests.unit.worker.opening import model, opened_text
from tests.unit.worker.test_gold import fixed_of, oracle_of


class Without:
    """One workload's exact answers with and without its operators."""

    def __init__(self, tmp_path, forward, inputs="[torch.randn(4, 6)]", **options):
        self._workload = opened_text(tmp_path, model(forward, inputs, **options))
        self._oracle, self._fixed = oracle_of(self._workload), fixed_of(self._workload)
        self.inputs = {path: each.double() for path, each in self._workload.fresh_sample().items()}
        self.operators = self._answer(Omit(slot=0))[1].operators
        self.expected = self._answer(Omit(slot=0, operator=1 << 20))[0].outputs["out"]

    def _answer(self, request):
        mode = Omitting(self._oracle.own, request)
        answer = self._oracle.answer(self._fixed, self._workload.fresh_sample(), mode)
        return answer, Omitted(operators=tuple(mode.operators))

    def answer(self, operator, operand=None, numbers=None):
        """The answer's output without the operator of this name."""
        index = next(number for number, each in enumerate(self.operators) if each.name == operator)
        given = numbers or self.operators[index].numbers
        return self._answer(Omit(slot=0, operator=index, operand=operand, numbers=given))[0].outputs["out"]

    def buffers(self, operator):
        index = next(number for number, each in enumerate(self.operators) if each.name == operator)
        request = Omit(slot=0, operator=index, operand=0, numbers=self.operators[index].numbers)
        return self._answer(request)[0].buffers


def test_operators_are_counted_by_name_and_stand_where_the_code_says(tmp_path):
    found = Without(tmp_path, "return torch.relu(self.l(torch.relu(x)).t().clone())", init="self.l = nn.Linear(6, 6)")
    assert [each.name for each in found.operators] == ["relu", "addmm", "relu_1"]
    assert {each.place for each in found.operators} == {"line 13 of forward()"}
    assert [each.operands for each in found.operators] == [1, 1, 1]


@pytest.mark.parametrize("text", ["x + x.zero_()", "x.view(-1).expand(2, 24)", "x.to(torch.float16).float()"])
def test_views_copies_and_fills_compute_nothing(tmp_path, text):
    assert {each.name for each in Without(tmp_path, f"return {text}").operators} <= {"add"}


def test_in_its_place_stands_what_it_was_given(tmp_path):
    found = Without(tmp_path, "return torch.clamp(x, -0.1, 0.1) + 2 * x")
    (x,) = found.inputs.values()
    assert torch.equal(found.answer("clamp", 0), 3 * x)
    assert torch.equal(found.answer("add", 0), x.clamp(-0.1, 0.1)) and torch.equal(found.answer("add", 1), 2 * x)


def test_what_an_operator_writes_to_stays_as_it_was(tmp_path):
    found = Without(tmp_path, "y = x * 2\n        y.add_(x).relu_()\n        return y * 3")
    (x,) = found.inputs.values()
    assert torch.equal(found.answer("relu", 0), 9 * x)
    assert torch.equal(found.answer("add", 0), (2 * x).relu() * 3)
    assert torch.equal(found.answer("add", 1), x.relu() * 3)


def test_in_its_place_stands_one_number(tmp_path):
    found = Without(tmp_path, "return x * x.abs().sum(1, keepdim=True)")
    (x,) = found.inputs.values()
    (mean,) = next(each for each in found.operators if each.name == "sum").numbers
    assert mean == pytest.approx(float(x.abs().sum(1).mean()))
    assert next(each for each in found.operators if each.name == "sum").operands == 0
    assert torch.equal(found.answer("sum", numbers=(2.0,)), 2 * x)


def test_what_is_as_large_takes_its_place_in_any_shape(tmp_path):
    found = Without(tmp_path, "return x.unsqueeze(1).mean(1) * 2")
    (x,) = found.inputs.values()
    assert torch.equal(found.answer("mean", 0), 2 * x)


def test_whole_numbers_and_booleans_get_numbers_of_their_own_kind(tmp_path):
    found = Without(tmp_path, "return x.gather(1, x.argmax(1, keepdim=True)) * (x > 100)")
    (x,) = found.inputs.values()
    assert next(each for each in found.operators if each.name == "argmax").operands == 0
    assert torch.equal(found.answer("gt", numbers=(0.7,)), x.max(1, keepdim=True).values.expand(4, 6))
    assert torch.equal(found.answer("gt", numbers=(0.2,)), torch.zeros(4, 6, dtype=torch.float64))
    assert torch.equal(found.answer("argmax", numbers=(1.2,)), torch.zeros(4, 6, dtype=torch.float64))


def test_of_several_results_the_first_is_handed_back_and_the_others_are_numbers(tmp_path):
    found = Without(tmp_path, "return F.layer_norm(x, (6,))")
    (x,) = found.inputs.values()
    assert torch.equal(found.answer("native_layer_norm", 0), x)
    (norm,) = found.operators
    assert len(norm.numbers) == 3 and abs(norm.numbers[0]) < 1e-9 and norm.operands == 1
    order = Without(tmp_path, "return x.gather(1, x.sort(1).indices)")
    (x,) = order.inputs.values()
    assert torch.equal(order.answer("sort", 0, (0.0, 0.0)), x[:, :1].expand(4, 6))


def test_without_a_norm_its_running_statistics_go_on(tmp_path):
    options = {"init": "self.n = nn.BatchNorm1d(6)", "inputs": "[torch.randn(8, 6)]"}
    found = Without(tmp_path, "return self.n(x)", **options)
    (x,) = found.inputs.values()
    norm = next(each.name for each in found.operators if "batch_norm" in each.name)
    assert torch.equal(found.answer(norm, 0), x)
    # Its counter is no part, and what is computed beside its result stands for nothing.
    assert [(each.name, each.operands, len(each.numbers)) for each in found.operators] == [("add", 0, 0), (norm, 1, 3)]
    assert torch.allclose(found.buffers(norm)["n.running_mean"], 0.1 * x.mean(0))


def test_means_of_nothing_and_of_nan_are_numbers(tmp_path):
    found = Without(tmp_path, "return x + torch.cat([x[:0] * 2, x]) + torch.log(-x.abs()).nan_to_num()")
    numbers = {each.name: each.numbers for each in found.operators}
    assert numbers["mul"] == (0.0,) and numbers["log"] == (0.0,)
    complex_ones = Without(tmp_path, "return (torch.complex(x, x) * 2).real")
    (x,) = complex_ones.inputs.values()
    mul = next(each for each in complex_ones.operators if each.name == "mul")
    assert mul.numbers == (pytest.approx(2 * float(x.mean())),)


def test_the_code_may_need_the_operator(tmp_path):
    found = Without(tmp_path, "return x.softmax(1) if bool((x.sum() != 77)) else missing")
    with pytest.raises(Exception, match="missing"):
        found.answer("sum", numbers=(77.0,))


def test_only_the_reference_is_asked():
    reply = handle(Session(role=ChildRole.CANDIDATE, given_descriptor=0, made_descriptor=0), Omit(slot=0))
    assert isinstance(reply, Raised) and "only the reference" in reply.detail
