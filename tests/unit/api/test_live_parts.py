"""Live objects on their way behind the wall: calls are read, devices checked, and what cannot be pickled says so."""

import threading
from dataclasses import replace
from importlib.metadata import version

import cloudpickle
import pytest
import torch

from strop.api import live
from strop.api.drop_in import DropIn, Guard
from strop.capture import capture
from strop.errors import NotSupported, UnknownName, UsageError
from strop.records.contract import CONTRACTS
from strop.records.event import Captured, Decided, Proposed
from strop.records.workload import Mode, SourceKind
from strop.storage.artefacts import Artefacts
from strop.targets._arithmetic import autocasting
from strop.wiring import conditions_of, open_house
from tests.unit.supervisor.makers import TARGET, WORKLOAD, keep, request, started

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
    assert live._plain(DropIn(module, None, module, Guard.around((X,), {}), CONTRACTS["fp32"], "cpu")) is module
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


NET = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.AvgPool2d(2)).eval()
IMAGES = torch.randn(2, 3, 8, 8)
HERE = replace(TARGET, name="cpu")


@pytest.fixture
def remembered(tmp_path, monkeypatch):
    """Puts a run into a ledger of its own and returns how to load it."""
    monkeypatch.setattr(live, "calibrated", lambda kind, settings, say: HERE)

    def remember(*, contract="bf16", conditions=None, model=NET, images=IMAGES, **changes):
        contract = CONTRACTS[contract]
        with open_house(str(tmp_path)) as house:
            run = house.ledger.new_run()
            asked = request(contract=contract)
            found = conditions or conditions_of(HERE, contract.name)
            workload = replace(WORKLOAD, mode=changes.pop("mode", Mode.EVAL))
            target = replace(HERE, **changes)
            house.ledger.append(run, started(workload=workload, target=target, request=asked, conditions=found))
            with autocasting(contract, "cpu"):
                captured = capture(NET, (IMAGES,)).record
            house.ledger.append(run, Captured(capture=captured))
            kept = keep("avg_pool_as_conv", 1.5)
            house.ledger.append(run, Proposed(candidate=kept.candidate))
            house.ledger.append(run, Decided(decision=kept, final=True))
        return live.load(run, model, images, store=str(tmp_path))

    return remember


def warnings(caplog):
    return [each.getMessage() for each in caplog.records if each.name == "strop.api"]


def test_a_loaded_run_serves_what_was_kept_under_its_contract(remembered, caplog):
    done = remembered()
    assert done.faster
    with torch.no_grad():
        found = done.module(IMAGES)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.testing.assert_close(found, NET(IMAGES))
    assert (found.dtype, done.module.misses, warnings(caplog)) == (torch.bfloat16, 0, [])


def test_another_version_than_the_runs_is_warned_about(remembered, caplog):
    conditions = conditions_of(HERE, "bf16")
    versions = tuple((name, "1.0" if name == "torch" else value) for name, value in conditions.versions)
    remembered(conditions=replace(conditions, versions=versions, threads=64))
    threads, versions = warnings(caplog)
    assert threads.endswith("was measured under other conditions: threads 64 there, 1 here")
    assert versions.endswith(f"was measured under other conditions: torch 1.0 there, {version('torch')} here")


def test_another_mode_or_device_than_the_runs_is_refused(remembered):
    with pytest.raises(UsageError, match=r"judged the model in train mode: call model.train\(\) first"):
        remembered(mode=Mode.TRAIN)
    with pytest.raises(UsageError, match="The model lies on meta, and the target cpu is a cpu device"):
        remembered(model=torch.nn.Linear(2, 2, device="meta").eval(), images=X.to("meta"))
    with pytest.raises(UnknownName, match="no target named 'sm_90'"):
        remembered(name="sm_90")


def test_loading_obeys_strop_logs(monkeypatch):
    monkeypatch.setenv("STROP_LOGS", "api:LOUD")
    with open_house():
        pass
    with pytest.raises(UsageError, match="STROP_LOGS names the level 'LOUD'"):
        live.load("last", torch.nn.Linear(2, 2), X)
