"""What a worker does while nobody asks, and where it makes what a workload's code leaves to torch."""

import fcntl
import importlib.util
import os
import resource
import threading
from types import SimpleNamespace

import pytest
import torch

from strop.records.candidate import SourceForm
from strop.records.workload import Mode
from strop.wire.frames import Frame, FrameKind
from strop.wire.messages import ChildRole
from strop.worker import __main__ as worker
from strop.worker.forms.source import Source
from strop.worker.guard import Blamed, foreign
from strop.worker.leaves import Call
from strop.worker.pipe import Pipe
from strop.worker.workloads import made_there

MOVES = SimpleNamespace(moves=True)


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield Pipe(reading, writing)
    for number in (reading, writing):
        os.close(number)


@pytest.fixture
def imported(monkeypatch):
    """What would have been imported."""
    names = []
    monkeypatch.setattr(worker, "importlib", SimpleNamespace(import_module=names.append, util=importlib.util))
    return names


def test_a_pipe_knows_whether_somebody_asks(pipe):
    assert not pipe.is_asked()
    pipe.write(Frame(FrameKind.DONE))
    assert pipe.is_asked()
    pipe.read()
    assert not pipe.is_asked()


def test_a_pipe_whose_other_end_is_gone_is_read_at_once():
    reading, writing = os.pipe()
    os.close(writing)
    assert Pipe(reading, reading).is_asked()
    os.close(reading)


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 2000, reason="so many files may not be open here")
def test_a_pipe_may_have_any_number():
    ends = os.pipe()
    far = fcntl.fcntl(ends[0], fcntl.F_DUPFD, 2000)
    pipe = Pipe(far, ends[1])
    assert not pipe.is_asked()
    pipe.write(Frame(FrameKind.DONE))
    assert pipe.is_asked()
    for number in (*ends, far):
        os.close(number)


@pytest.mark.parametrize("awake_s", [0.0, 0.01, 60.0])
def test_a_pipe_is_read_whether_it_is_waited_for_awake_or_asleep(pipe, awake_s):
    writer = threading.Timer(0.05, pipe.write, [Frame(FrameKind.DONE)])
    writer.start()
    assert pipe.read(awake_s).kind is FrameKind.DONE
    writer.join()


@pytest.mark.parametrize("role", [role for role in ChildRole if role is not ChildRole.CANDIDATE])
def test_the_compiler_is_imported_while_nobody_asks(pipe, imported, role):
    worker.warm_up(pipe, role)
    assert tuple(imported) == worker.COMPILERS_MODULES
    assert all(importlib.util.find_spec(name) for name in imported)


def test_a_candidate_finds_only_what_it_asks_for(pipe, imported):
    worker.warm_up(pipe, ChildRole.CANDIDATE)
    assert imported == []


def test_whoever_asks_is_answered_at_once(pipe, imported, monkeypatch):
    def asks_at_the_second(name):
        imported.append(name)
        if len(imported) == 2:
            pipe.write(Frame(FrameKind.DONE))

    monkeypatch.setattr(worker.importlib, "import_module", asks_at_the_second)
    worker.warm_up(pipe, ChildRole.BASELINE)
    assert len(imported) == 2


def test_without_triton_what_needs_it_is_left_out(pipe, imported, monkeypatch):
    found = importlib.util.find_spec
    known = SimpleNamespace(find_spec=lambda name: None if name == "triton" else found(name))
    monkeypatch.setattr(worker.importlib, "util", known)
    worker.warm_up(pipe, ChildRole.BASELINE)
    assert tuple(imported) == worker.COMPILERS_MODULES[: worker.COMPILERS_MODULES.index("triton")]


def test_what_is_left_to_torch_is_made_on_the_workloads_device():
    assert made_there(MOVES, "meta", 1, lambda: torch.randn(3)).device.type == "meta"
    assert made_there(MOVES, "cpu", 1, lambda: torch.randn(3)).device.type == "cpu"
    assert made_there(SimpleNamespace(moves=False), "meta", 1, lambda: torch.randn(3)).device.type == "cpu"
    assert torch.empty(0).device.type == "cpu"


def test_a_candidate_draws_where_the_workload_does():
    """Otherwise the same seed gives it other numbers than the workload's own."""
    text = "import torch\nclass ModelNew(torch.nn.Module):\n  def __init__(self, n):\n    super().__init__()\n"
    form = SourceForm(text=text + "    self.weight = torch.randn(n)\n")
    for device in ("meta", "cpu"):
        brought = SimpleNamespace(moves=True, init=Call(args=(3,), kwargs={}))
        opened = SimpleNamespace(
            brought=brought, workload=SimpleNamespace(device=device), construct_seed=1, mode=Mode.EVAL
        )
        assert Source().build(opened, form, None).module.weight.device.type == device


def test_code_that_does_not_bear_it_is_asked_again_as_it_was_written():
    def make():
        with foreign("workload", "get_inputs()"):
            drawn = torch.randn(3)
            return drawn * float(drawn.sum())  # numbers cannot be read where there are none

    made = made_there(MOVES, "meta", 1, make)
    assert made.device.type == "cpu"
    assert torch.equal(made, made_there(MOVES, "cpu", 1, make))


def test_code_that_is_broken_everywhere_is_told():
    def make():
        with foreign("workload", "get_inputs()"):
            raise ValueError("no")

    with pytest.raises(Blamed):
        made_there(MOVES, "meta", 1, make)
