"""What the reference says about a workload, and the domains that it learns."""

import pytest
import torch

from strop.errors import BadWorkload
from strop.records.tensor import DType
from strop.records.workload import DomainKind, Mode
from strop.worker.describe import describe
from strop.worker.guard import Blamed
from tests.unit.worker.opening import model, opened, opened_text


def said(where, **options):
    return describe(opened(where, **options)).description


def domains(description):
    return {leaf.path: leaf.domain.kind.value for leaf in description.inputs}


def test_parameters_buffers_inputs_and_outputs():
    found = said("mlp")
    assert [leaf.path for leaf in found.parameters][:2] == ["first.weight", "first.bias"]
    assert [leaf.path for leaf in found.buffers] == [
        "norm.running_mean",
        "norm.running_var",
        "norm.num_batches_tracked",
    ]
    assert found.buffers[2].tensor.dtype is DType.INT64
    assert [(leaf.path, leaf.tensor.shape) for leaf in found.outputs] == [("out", (8, 16))]
    assert found.mode is Mode.TRAIN


def test_updated_buffers_are_found_and_put_back():
    workload = opened("mlp")
    before = workload.module.norm.running_mean.clone()
    found = describe(workload).description
    assert found.updates == ("norm.running_mean", "norm.running_var", "norm.num_batches_tracked")
    assert torch.equal(workload.module.norm.running_mean, before)
    assert describe(opened("mlp", mode=Mode.EVAL)).description.updates == ()


def test_constants_are_found():
    assert 2.5 in said("mlp").constants
    assert 1e-5 in said("mlp").constants


def test_dataclass_results_and_their_structure():
    found = said("forms")
    assert [leaf.path for leaf in found.outputs] == ["out.total", "out.parts['masked']", "out.parts['b']"]
    assert "count=3" in found.structure or "Result" in found.structure
    assert found.inputs[0].tensor.stride == (1, 4)


def test_mutated_inputs_aliases_and_a_declared_mode():
    found = said("cache", mode=Mode.EVAL)
    assert found.mutates == ("args[1]",)
    assert found.aliases == ("out[1]",)
    assert found.updates == ("seen",)
    assert found.mode is Mode.EVAL
    assert found.random_ops == ()


def test_what_a_call_puts_into_its_arguments_is_an_output():
    found = said("growing")
    assert [leaf.path for leaf in found.inputs] == ["args[0]", "args[1].rows"]
    assert [(leaf.path, leaf.tensor.shape) for leaf in found.outputs] == [("out", (8,)), ("args[1].rows", (6, 8))]
    assert (found.mutates, found.aliases) == ((), ())


def test_a_result_that_is_the_same_buffer_every_time_is_an_alias(tmp_path):
    text = model("self.kept.copy_(x); return self.kept", "[torch.randn(3)]", init="self.kept = torch.zeros(3)")
    assert describe(opened_text(tmp_path, text)).description.aliases == ("out",)


def test_declared_domains_are_believed():
    found = {leaf.path: leaf.domain for leaf in said("cache").inputs}
    assert (found["args[0]"].kind, found["args[0]"].low, found["args[0]"].high) == (DomainKind.INTEGER, 0, 49)
    assert found["args[1]"].kind is DomainKind.FINITE
    assert found["args[0]"].declared
    assert found["args[2]"].kind is DomainKind.FIXED


def test_random_operators_are_named():
    found = said("chance")
    assert any("bernoulli" in name or "dropout" in name for name in found.random_ops)
    assert found.has_acceptance
    assert said("chance", mode=Mode.EVAL).random_ops == ()


def test_probabilities_and_distributions_are_learned():
    assert domains(said("chance")) == {"args[0]": "positive", "args[1]": "distribution"}


LEARNED = [
    ("return x * 2", "[torch.rand(4)]", "real"),
    ("return torch.log1p(-x)", "[torch.rand(4) * 0.9]", "probability"),
    ("return torch.linalg.cholesky(x)", "[torch.eye(3) * 2]", "fixed"),
    ("return torch.softmax(x, -1)", "[torch.tensor([0.0, float('-inf')]).repeat(2, 1)]", "fixed"),
    ("return x + 1", "[torch.randint(5, 9, (4, 6))]", "integer"),
    ("return x + 1", "[torch.arange(6)]", "fixed"),
    ("return x + 1", "[torch.randperm(6)]", "fixed"),
    ("return x + 1", "[torch.ones(6, dtype=torch.long)]", "fixed"),
    ("return ~x", "[torch.rand(20) < 0.5]", "boolean"),
    ("return ~x", "[torch.ones(3, 3).tril().bool()]", "fixed"),
    ("return x.abs()", "[torch.randn(4, dtype=torch.complex64)]", "real"),
]


@pytest.mark.parametrize(("forward", "inputs", "kind"), LEARNED, ids=[f"{f}-{k}" for f, _, k in LEARNED])
def test_domains_are_learned_from_the_generator(tmp_path, forward, inputs, kind):
    assert domains(describe(opened_text(tmp_path, model(forward, inputs))).description) == {"args[0]": kind}


def test_integers_lie_between_what_was_seen(tmp_path):
    text = model("return x + 1", "[torch.randint(5, 9, (40,))]")
    (leaf,) = describe(opened_text(tmp_path, text)).description.inputs
    assert (leaf.domain.low, leaf.domain.high) == (5, 8)


def test_inputs_that_depend_on_each_other_stay_as_they_are(tmp_path):
    forward = "return torch.log(x * y)"
    inputs = "[(s := torch.randn(6)), s.clone()]"
    text = model(forward, inputs, arguments="self, x, y")
    assert set(domains(describe(opened_text(tmp_path, text)).description).values()) == {"fixed"}


REFUSED = [
    (model("return torch.log(x)", "[-torch.ones(3)]"), "The model makes NaN from its own inputs (in out)"),
    (model("return None", "[torch.ones(3)]"), "returns no tensor"),
    (model("return x", "[torch.ones(3)]") + "\ndomains = {'y': 'finite'}", "which is no input"),
    (model("return x", "[torch.ones(3)]") + "\ndomains = {'x': 'fniite'}", "Did you mean 'finite'?"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_workloads_that_are_refused(tmp_path, text, says):
    with pytest.raises(BadWorkload) as caught:
        describe(opened_text(tmp_path, text))
    assert says in str(caught.value)


def test_shapes_that_do_not_fit(tmp_path):
    text = model("return x @ torch.ones(5)", "[torch.ones(3)]")
    with pytest.raises(Blamed) as caught:
        describe(opened_text(tmp_path, text))
    assert "The model's forward() raised RuntimeError" in caught.value.detail
    assert caught.value.detail.endswith("Make the inputs what forward() takes.")


def test_too_much_memory(tmp_path):
    text = model("return torch.empty(1 << 60)", "[torch.ones(3)]")
    with pytest.raises(Blamed) as caught:
        describe(opened_text(tmp_path, text))
    assert "use smaller shapes" in caught.value.detail


def test_chance_that_torch_does_not_know_of_is_noted(tmp_path):
    text = model("return x + random.random()", "[torch.ones(3)]", head="import random\nrandom = random.SystemRandom()")
    assert "gave different bits" in describe(opened_text(tmp_path, text)).description.notes[0]
