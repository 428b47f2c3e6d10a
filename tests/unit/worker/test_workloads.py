"""Loading workloads by every road, and what people are told when it cannot be done."""

import hashlib
import sys
from dataclasses import replace

import cloudpickle
import pytest
import torch

from strop.errors import BadWorkload, NotSupported
from strop.records.candidate import ModuleForm
from strop.records.workload import Mode, SourceKind
from strop.worker import forms
from strop.worker.calls import read_call
from strop.worker.guard import Blamed
from strop.worker.workloads import load_workload
from tests.unit.worker.client import TARGET, workload_of
from tests.unit.worker.opening import model, opened, opened_text


def test_a_kernelbench_file_is_loaded():
    found = opened("mlp")
    assert found.shape.paths == ("args[0]",)
    assert found.module.training
    assert found.module.first.weight.shape == (32, 16)
    assert torch.equal(found.build().first.weight, found.module.first.weight)


def test_args_and_kwargs_forms_are_read():
    found = opened("forms")
    assert found.shape.paths == ("args[0]", "args[1]['a']", "args[1]['b']", "kwargs['mask']")
    assert found.module.layer.bias is None
    call = found.shape.build(found.fresh_sample())
    assert call.kwargs["scale"] == 2.5
    assert call.kwargs["flag"] is True


def test_strides_stay_and_expanded_inputs_are_written_out():
    sample = opened("forms").fresh_sample()
    assert sample["args[0]"].stride() == (1, 4)
    assert sample["args[1]['a']"].stride() == (4, 1)


def test_what_a_file_declares_is_read_and_the_record_rules():
    # The parent has read the file's own MODE and may have been told otherwise, so its word counts.
    assert opened("cache", mode=Mode.TRAIN).mode is Mode.TRAIN
    assert opened("cache", mode=Mode.EVAL).mode is Mode.EVAL
    assert not opened("cache", mode=Mode.EVAL).module.training


@pytest.mark.parametrize(
    ("value", "args", "names"),
    [
        ([1, 2], (1, 2), []),
        ((1,), (1,), []),
        (torch.ones(1), None, []),
        ({"x": 1}, (), ["x"]),
        ([[1], {"y": 2}], (1,), ["y"]),
        ([[], {}], (), []),
    ],
)
def test_forms_of_arguments(value, args, names):
    call = read_call(value, "get_inputs()")
    assert args is None or call.args == args
    assert list(call.kwargs) == names


def test_a_list_and_a_dictionary_may_be_two_arguments():
    assert read_call([[1, 2], {"k": 3}], "x", lambda items, table: None).args == ([1, 2], {"k": 3})
    assert read_call([[1, 2], {"k": 3}], "x", lambda a, b, k: None).args == (1, 2)


INPUTS = "[torch.ones(2)]"
PLAIN = model("return x", INPUTS)

BAD_FILES = [
    (PLAIN.replace("class Model", "class Modle"), "Did you mean 'Modle'?"),
    (PLAIN.replace("class Model", "class Net"), "name it: workload.py:Net"),
    ("x = 1", "Add `class Model(torch.nn.Module)`"),
    (PLAIN.replace("get_inputs", "make"), "add `def get_inputs(): return"),
    (PLAIN.replace("get_inputs", "get_input"), "Did you mean 'get_input'? Rename it to get_inputs."),
    (PLAIN.replace("get_init_inputs", "init").replace("(self):", "(self, n):"), "add `def get_init_inputs()"),
    (PLAIN.replace("return [torch.ones(2)]", "return 3"), "returned a int: return a list of arguments"),
    (PLAIN + "\nMODE = 'evil'", "write 'train' or 'eval'"),
    (PLAIN + "\ndomains = ['x']", "domains in workload.py is a list"),
    (PLAIN + "\ndef get_samples(): return []", "returned nothing"),
    (model("return x", "[torch.ones(2).to_sparse()]"), "make it dense"),
]


@pytest.mark.parametrize(("text", "says"), BAD_FILES, ids=[says for _, says in BAD_FILES])
def test_a_bad_file_is_told_the_shortest_fix(tmp_path, text, says):
    with pytest.raises((BadWorkload, NotSupported), match=r".") as caught:
        opened_text(tmp_path, text)
    assert says.lower() in str(caught.value).lower()


RAISING = [
    (PLAIN + "\nraise ValueError('no such thing')", "Importing workload.py raised ValueError: no such thing."),
    (PLAIN + "\nimport no_such_package", "ModuleNotFoundError"),
    ("def (:", "SyntaxError"),
    (PLAIN.replace("return [torch.ones(2)]", "return [torch.ones(-1)]"), "get_inputs() of workload.py raised"),
    (PLAIN + "\nraise SystemExit(0)", "SystemExit"),
]


@pytest.mark.parametrize(("text", "says"), RAISING, ids=[says for _, says in RAISING])
def test_what_a_file_raises_is_the_workloads_fault(tmp_path, text, says):
    with pytest.raises(Blamed) as caught:
        opened_text(tmp_path, text)
    assert caught.value.who == "workload"
    assert says in caught.value.detail


def test_building_may_raise_too(tmp_path):
    found = opened_text(tmp_path, model("return x", INPUTS, init="raise KeyError('weights')"))
    with pytest.raises(Blamed, match="Building Model raised KeyError"):
        found.build()


def test_another_file_under_the_same_path_is_refused(tmp_path):
    path = tmp_path / "w.py"
    path.write_text(PLAIN, encoding="utf-8")
    workload = workload_of(path)
    changed = replace(workload, source=replace(workload.source, digest="0" * 64))
    with pytest.raises(BadWorkload, match="has changed since"):
        load_workload(changed, 1)


def test_a_device_that_is_not_there(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a device here")
    with pytest.raises(BadWorkload, match="torch sees no such device here"):
        opened("mlp", device="cuda")
    with pytest.raises(BadWorkload, match="asks for meta"):
        opened("mlp", device="meta")


def test_parameters_on_another_device(tmp_path):
    text = model("return self.layer(x)", "[torch.ones(2)]", init="self.layer = nn.Linear(2, 2, device='meta')")
    with pytest.raises(BadWorkload, match="parameters are on meta, the workload runs on cpu: move it there"):
        opened_text(tmp_path, text).build()


def test_a_large_sample_is_let_go_and_drawn_again(monkeypatch):
    workload = opened("mlp")
    before = {path: tensor.clone() for path, tensor in workload.sample.items()}
    workload.let_go()
    assert workload.kept, "a small one may stay"
    monkeypatch.setattr("strop.worker.opened.LARGE_BYTES", 0)
    workload.let_go()
    workload.let_go()
    again = workload.fresh_sample()
    assert not workload.kept
    assert again.keys() == before.keys() and all(torch.equal(again[path], before[path]) for path in before)


def test_samples_of_one_shape_are_drawn_from(tmp_path):
    samples = "[[torch.full((2,), 1.0)], [torch.full((2,), 2.0)], [torch.ones(3)], [torch.ones(3, dtype=int)]]"
    found = opened_text(tmp_path, model("return x", "[]") + f"\ndef get_samples(): return {samples}")
    assert found.brought.samples == 2
    assert [len(group) for group in found.brought.others] == [1]
    assert "1 samples are built otherwise" in found.brought.notes[0]
    assert found.sample["args[0]"].shape == (2,)


FACTORIES = """
import torch
from torch import nn

def pair(): return nn.Linear(2, 3), [torch.ones(4, 2)]
def triple(): return nn.Linear(2, 3), (), {"input": torch.ones(4, 2)}
def table(): return {"module": nn.Linear(2, 3), "inputs": lambda: [torch.randn(4, 2)], "mode": "eval"}
def samples(): return nn.Linear(2, 3), [(torch.ones(4, 2),), (torch.zeros(4, 2),)]
def claims(): return {"module": torch.relu, "inputs": [torch.ones(2)], "shapes": {0: 1}, "layouts": "any"}
def function(): return torch.relu, [torch.ones(2)]
def wrong(): return 3
def raises(): raise OSError("weights are gone")
number = 5
class Thing:
    module = nn.Linear(2, 3)
    args = (torch.ones(4, 2),)
def thing(): return Thing()
"""


@pytest.fixture
def factories(tmp_path):
    (tmp_path / "strop_test_factories.py").write_text(FACTORIES, encoding="utf-8")
    yield lambda name: opened(
        f"strop_test_factories:{name}", kind=SourceKind.FACTORY, mode=Mode.TRAIN, import_path=(str(tmp_path),)
    )
    sys.modules.pop("strop_test_factories", None)
    sys.path.remove(str(tmp_path))


@pytest.mark.parametrize("name", ["pair", "triple", "table", "samples", "thing", "function"])
def test_factories(factories, name):
    found = factories(name)
    assert len(found.shape.paths) == 1
    assert found.call(found.module, found.fresh_sample()).isfinite().all()
    assert found.brought.varies is (name in ("table", "samples"))
    assert found.mode is (Mode.EVAL if name == "table" else Mode.TRAIN)


def test_a_factory_may_claim_other_shapes_and_layouts(factories):
    brought = factories("claims").brought
    assert brought.shapes == {0: 1} and brought.any_layout
    assert not factories("pair").brought.any_layout


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("wrong", "returned a int without module or inputs: return (module, inputs)"),
        ("number", "is a int: name a function"),
        ("tabel", "Did you mean 'table'?"),
        ("", "write package.module:function"),
    ],
)
def test_bad_factories(factories, name, says):
    with pytest.raises(BadWorkload) as caught:
        factories(name)
    assert says in str(caught.value)


def test_a_factory_that_raises(factories):
    with pytest.raises(Blamed, match="raised OSError: weights are gone"):
        factories("raises")


def test_a_program(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(module, (torch.randn(2, 4),)), path)
    found = opened(str(path), kind=SourceKind.PROGRAM)
    sample = found.fresh_sample()
    with torch.no_grad():
        assert torch.allclose(found.call(found.module, sample), module(*sample.values()))
    assert not found.brought.varies


def test_a_program_that_is_none(tmp_path):
    path = tmp_path / "model.pt2"
    path.write_bytes(b"nothing")
    with pytest.raises(Blamed, match="Export it again"):
        opened(str(path), kind=SourceKind.PROGRAM)
    with pytest.raises(BadWorkload, match="There is no file"):
        opened(str(tmp_path / "other.pt2"), kind=SourceKind.PROGRAM)


def test_a_live_module(tmp_path):
    class Local(torch.nn.Module):
        def forward(self, x, *, scale):
            return x * scale

    path = tmp_path / "live.pkl"
    path.write_bytes(cloudpickle.dumps((Local(), (torch.ones(2),), {"scale": 3.0})))
    found = opened(str(path), kind=SourceKind.LIVE)
    assert found.call(found.module, found.fresh_sample()).tolist() == [3.0, 3.0]


def frozen_norm(training):
    """A model of which one part is in another mode than the whole."""
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).train(training)
    module[1].train(not training)
    return module


@pytest.mark.parametrize("mode", list(Mode))
def test_a_live_module_keeps_the_modes_of_its_parts(tmp_path, mode):
    module = frozen_norm(mode is Mode.TRAIN)
    path = tmp_path / "live.pkl"
    path.write_bytes(cloudpickle.dumps((module, (torch.randn(3, 2),), {})))
    found = opened(str(path), kind=SourceKind.LIVE, mode=mode)
    assert [part.training for part in found.module.modules()] == [part.training for part in module.modules()]
    before = found.module[1].running_mean.clone()
    found.call(found.module, found.fresh_sample())
    assert torch.equal(found.module[1].running_mean, before) is (mode is Mode.TRAIN)


@pytest.mark.parametrize(("mode", "norm"), [(Mode.TRAIN, False), (Mode.EVAL, False)])
def test_a_live_candidate_keeps_the_modes_of_its_parts_where_its_own_mode_is_the_references(tmp_path, mode, norm):
    path = tmp_path / "live.pkl"
    path.write_bytes(cloudpickle.dumps((frozen_norm(training=True), (torch.randn(3, 2),), {})))
    found = opened(str(path), kind=SourceKind.LIVE, mode=mode)
    candidate = tmp_path / "candidate.pkl"
    candidate.write_bytes(cloudpickle.dumps(frozen_norm(training=True)))
    form = ModuleForm(where=str(candidate), digest=hashlib.sha256(candidate.read_bytes()).hexdigest())
    runner = forms.SHELF.get("module").build(found, form, TARGET)
    assert (runner.module.training, runner.module[1].training) == (mode is Mode.TRAIN, norm)


def test_a_file_is_switched_as_a_whole(tmp_path):
    found = opened_text(tmp_path, model("return self.norm(x)", INPUTS, init="self.norm = nn.BatchNorm1d(2).eval()"))
    assert found.module.norm.training


def test_a_live_artefact_that_is_something_else(tmp_path):
    path = tmp_path / "live.pkl"
    path.write_bytes(cloudpickle.dumps([1, 2]))
    with pytest.raises(BadWorkload, match=r"not \(module, args, kwargs\)"):
        opened(str(path), kind=SourceKind.LIVE)
