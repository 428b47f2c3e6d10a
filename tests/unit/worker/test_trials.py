"""Trials of kernels before they are proposed: together where possible, apart where one fails, never at any price."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from strop.errors import BadCandidate
from strop.transforms import SHELF
from strop.transforms._base import Timing
from strop.worker import trials
from tests.unit.transforms.kernel_samples import looped, pointwise, profiled
from tests.unit.transforms.rewriting import WITHOUT_CPP

RETUNE = SHELF.get("retune_generated_kernel")
KERNELS = [profiled(pointwise(), time_ns=90e3), profiled(looped(passes=3), time_ns=80e3)]


def opened(device="cuda"):
    return SimpleNamespace(workload=SimpleNamespace(device=device), build=lambda: None, calling=nullcontext)


def timings(own_ns, best_ns, *, own=True, **launch):
    launch = {"num_warps": 4, "num_stages": 1, **launch}
    return (
        *([Timing(launch=launch, time_ns=own_ns, own=True)] if own else []),
        Timing(launch=launch, time_ns=best_ns, own=False),
    )


@pytest.fixture
def asked(monkeypatch):
    """What was tried together; the answers can be replaced."""
    calls = []
    answers = {
        "persistent": lambda: timings(0, 20e3, own=False, XBLOCK=1),
        "kept": lambda: timings(50e3, 40e3, XBLOCK=8),
    }

    def time_alone(module, call, steps):
        calls.append([str(step.argument("form", "")) for step in steps])
        return {step: answers[str(step.argument("form", ""))]() for step in steps}

    monkeypatch.setattr(trials, "time_alone", time_alone)
    return SimpleNamespace(calls=calls, answers=answers)


def tried(device="cuda"):
    offered = list(RETUNE.proposals(KERNELS, WITHOUT_CPP))
    return offered, trials.tried(opened(device), RETUNE, KERNELS, offered)


def forms(found):
    return sorted(str(each.step.argument("form", "")) for each in found)


def test_no_kernel_is_tried_twice_in_one_call(asked):
    _, found = tried()
    assert asked.calls == [["kept", "kept"], ["persistent"]]
    assert forms(found) == ["kept", "persistent"]


def test_where_there_is_no_device_nothing_is_tried(asked):
    offered, found = tried("cpu")
    assert asked.calls == [] and found == offered


def refuse():
    raise BadCandidate("there is no such form")


def fail():
    raise RuntimeError("out of something")


def test_a_form_that_the_compiler_has_not_is_dropped(asked):
    asked.answers["persistent"] = refuse
    _, found = tried()
    assert forms(found) == ["kept", "kept"]


def test_a_trial_that_fails_leaves_the_estimate(asked):
    asked.answers["kept"] = fail
    asked.answers["persistent"] = fail
    offered, found = tried()
    assert asked.calls == [["kept", "kept"], ["kept"], ["kept"], ["persistent"]]
    assert sorted(map(str, found)) == sorted(map(str, offered))


def test_after_a_while_no_further_round_begins(asked, monkeypatch):
    monkeypatch.setattr(trials, "ENOUGH_S", 0.0)
    offered, found = tried()
    assert asked.calls == []
    assert sorted(map(str, found)) == sorted(map(str, offered))
