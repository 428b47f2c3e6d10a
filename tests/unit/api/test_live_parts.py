"""Live objects on their way behind the wall: calls are read, devices checked, and what cannot be pickled says so."""

import threading

import cloudpickle
import pytest
import torch

from strop.api import live
from strop.api.drop_in import DropIn, Guard
from strop.errors import NotSupported, UnknownName, UsageError
from strop.records.workload import Mode, SourceKind
from strop.storage.artefacts import Artefacts
from tests.unit.supervisor.makers import TARGET

X = torch.ones(2)


@pytest.mark.parametrize(
    ("given", "args", "kwargs"),
    [
        (X, (X,), {}),
        ([X, 2], (X, 2), {}),
        ((X,), (X,), {}),
        ({"x": X}, (), {"x": X}),
        (([X], {"scale": 2}), (X,), {"scale": 2}),
        (((X, X), {}), (X, X), {}),
        (([X], {1: 2}), ([X], {1: 2}), {}),
        ((X, {"a": 1}), (X, {"a": 1}), {}),
    ],
)
def test_example_inputs_in_every_form(given, args, kwargs):
    read = live.read_call(given)
    assert str(read) == str((args, kwargs))


def test_example_inputs_that_are_none():
    with pytest.raises(UsageError, match="give a tensor, arguments, or"):
        live.read_call(3)


def test_the_device_is_where_everything_lies():
    module = torch.nn.Linear(2, 2)
    assert live.device_of(module, ((X,), {})) == "cpu"
    assert live.device_of(torch.nn.ReLU(), ((), {})) == "cpu"
    with pytest.raises(NotSupported, match="lie on cpu and meta"):
        live.device_of(module, ((X.to("meta"),), {}))


def test_a_live_workload_is_an_artefact_that_holds_module_and_call(tmp_path):
    module = torch.nn.Linear(2, 2).eval()
    workload = live.live_workload(module, ((X,), {"a": 1}), TARGET, Artefacts(tmp_path))
    assert (workload.name, workload.mode, workload.source.kind) == ("Linear", Mode.EVAL, SourceKind.LIVE)
    held = cloudpickle.loads(Artefacts(tmp_path).get(workload.source.digest))
    assert type(held) is tuple
    assert held[2] == {"a": 1}
    torch.testing.assert_close(held[0].weight, module.weight)


def test_what_cannot_be_pickled_is_told_the_other_road():
    module = torch.nn.Linear(2, 2)
    module.lock = threading.Lock()
    with pytest.raises(NotSupported, match=r"cannot be pickled .* Write a workload file"):
        live.pickled(module, "The model")


@pytest.mark.parametrize("wrong", ["a string", torch.ones(2), torch.nn.Linear])
def test_what_is_no_module_is_refused(wrong):
    with pytest.raises(UsageError, match=r"give a torch\.nn\.Module"):
        live.optimize(wrong, X)


def test_wrappers_are_taken_off():
    module = torch.nn.Linear(2, 2)
    assert live._plain(torch.compile(module)) is module
    assert live._plain(DropIn(module, None, module, Guard.around((X,), {}))) is module
    assert live._plain(module) is module


def test_names_are_checked_before_anything_is_started():
    with pytest.raises(UnknownName, match="Did you mean 'fp32'"):
        live.optimize(torch.nn.Linear(2, 2), X, contract="fp23")
    with pytest.raises(UnknownName, match="Did you mean 'cpu'"):
        live.verify(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), X, target="cpx")


def test_a_model_on_a_device_that_no_target_is():
    module = torch.nn.Linear(2, 2, device="meta")
    with pytest.raises(NotSupported, match="no target for a model on meta"):
        live.optimize(module, X.to("meta"))
    with pytest.raises(UsageError, match="The model lies on meta, and the target cpu is a cpu device"):
        live.optimize(module, X.to("meta"), target="cpu")


def test_strop_disable_hands_the_module_back(monkeypatch):
    monkeypatch.setenv("STROP_DISABLE", "1")
    module = torch.nn.Linear(2, 2)
    done = live.optimize(module, X)
    assert done.module is module
    assert (done.faster, done.speedup, done.result) == (False, None, None)
    with pytest.raises(UsageError, match="there was no run"):
        done.json()


def test_loading_a_run_that_is_not_there():
    with pytest.raises(UnknownName, match="no run named 'r-0'"):
        live.load("r-0", torch.nn.Linear(2, 2), X)
