"""Edits of a generated kernel are launched alone: here with the compiler and the device played by hand."""

from dataclasses import replace

import pytest
import torch

from strop.errors import NotSupported
from strop.lowering.lower import LoweredGraph
from strop.records.candidate import CompiledForm
from strop.records.graph import CompiledKernel, KernelKind
from strop.records.recipe import Step
from strop.records.target import Target
from strop.wire.launches import AskLaunches
from strop.wire.messages import ChildRole
from strop.worker.loading import load
from strop.worker.questions import launches
from strop.worker.session import Session
from tests.unit.transforms.kernel_samples import pointwise
from tests.unit.transforms.rewriting import TARGET
from tests.unit.worker.opening import opened

KERNEL = CompiledKernel(name="triton_poi", kind=KernelKind.GENERATED, language="triton", nodes=(), source="own text")
STEPS = [Step("retune_generated_kernel", (("hash", "k"), ("num_warps", warps))) for warps in (1, 2, 3)]
TIMES = {"own text": 100.0, "text 1": 50.0, "text 2": 60.0}


@pytest.fixture
def place(monkeypatch):
    """A kernel whose edits are named by their warps; one with three warps does not compile."""

    def edited(wrapper, name, step, in_form):
        return f"text {step.argument('num_warps', 0)}"

    def compiling(name, source):
        def run(*arguments, stream):
            ran.append((source, arguments, stream))

        def wait():
            if source not in TIMES:
                raise RuntimeError("does not compile")
            return run

        begun.append(source)
        return wait

    def timed(launch, cache_bytes):
        launch()
        return TIMES[ran[-1][0]]

    begun, ran = [], []
    monkeypatch.setattr(launches, "edited_source", edited)
    monkeypatch.setattr(launches, "compiling_kernel", compiling)
    monkeypatch.setattr(launches, "launch_time_ns", timed)
    monkeypatch.setattr(launches, "_stream", lambda: 7)
    graph = LoweredGraph("g", "g", "wrapper", None, {}, {}, lambda form: "")
    here = launches._Place(KERNEL, graph, ("in", "out", 8), graph.in_form)
    return here, begun, ran


def test_every_edit_is_timed_on_the_calls_own_arguments_and_all_compile_before_the_first_runs(place):
    here, begun, ran = place
    one, other, broken = launches._timed(here, STEPS, 0, until_s=float("inf"))
    assert begun == ["own text", "text 1", "text 2", "text 3"]
    assert ran[0] == ("own text", ("in", "out", 8), 7)
    assert (one.time_ns, one.own_ns, one.because) == (50.0, 100.0, "")
    assert other.time_ns == 60.0
    assert "does not compile" in broken.because and broken.time_ns == 0.0


@pytest.fixture
def doubling(place, monkeypatch):
    """A kernel that doubles in place, as does its first edit; the second one triples."""

    def compiling(name, source):
        return lambda: lambda x, *_, stream: x.mul_(3 if source == "text 2" else 2)

    timed = []
    monkeypatch.setattr(launches, "compiling_kernel", compiling)
    monkeypatch.setattr(launches, "launch_time_ns", lambda launch, cache_bytes: timed.append(launch()) or 50.0)
    source = pointwise().replace("in_ptr0", "in_out_ptr0")
    return replace(place[0], kernel=replace(KERNEL, source=source), arguments=(torch.ones(4), torch.ones(4), 4)), timed


def test_an_edit_that_leaves_something_else_is_not_timed_and_says_what(doubling):
    here, timed = doubling
    right, wrong = launches._timed(here, STEPS[:2], 0, until_s=float("inf"))
    assert (right.time_ns, right.because) == (50.0, "")
    assert "leaves other values in in_out_ptr0" in wrong.because and wrong.time_ns == wrong.own_ns == 0.0
    assert len(timed) == 2, "the kernel's own version and the edit that is right"
    assert here.arguments[0].tolist() == [1.0] * 4, "what timing changed is put back for other kernels"


def test_without_memory_for_copies_edits_are_timed_alone_and_it_is_said(doubling, monkeypatch, caplog):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(launches, "Sieve", full)
    found = launches._timed(doubling[0], STEPS[:2], 0, until_s=float("inf"))
    assert [each.time_ns for each in found] == [50.0, 50.0]
    assert "no memory to compare" in caplog.text


def test_what_is_not_reached_in_time_is_left_out(place):
    assert launches._timed(place[0], STEPS, 0, until_s=0.0) == []


def test_an_edit_that_does_not_fit_is_said(place, monkeypatch):
    def refuse(wrapper, name, step, in_form):
        raise ValueError("no such block")

    monkeypatch.setattr(launches, "edited_source", refuse)
    found = launches._timed(place[0], STEPS[:1], 0, until_s=float("inf"))
    assert "no such block" in found[0].because


def test_on_the_host_there_is_nothing_to_launch():
    workload = opened("mlp")
    session = Session(role=ChildRole.BASELINE, given_descriptor=-1, made_descriptor=-1)
    session.open(workload)
    target: Target = replace(TARGET, languages=("cpp",))
    session.load(load(workload, CompiledForm(mode="eager"), target))
    with pytest.raises(NotSupported, match="generated for an accelerator"):
        launches.ITEM.answer(session, AskLaunches(steps=tuple(STEPS), cache_bytes=0, limit_s=1.0))
