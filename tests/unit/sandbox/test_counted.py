"""A tool around a child: it starts the worker, the worker answers by itself, and the report is read when both ended."""

import sys
import time

import pytest

from strop.records.candidate import CompiledForm
from strop.records.contract import CONTRACTS
from strop.records.profile import CountedLaunch, KernelCounters
from strop.records.workload import SourceKind, Workload, WorkloadSource
from strop.sandbox import nsight
from strop.sandbox.limits import GIB, Limits
from strop.wire.messages import AskCounters, AskMemory, ChildRole, Load, Open
from tests.unit.sandbox.test_nsight import LOUD, row, table
from tests.unit.sandbox.walls import TARGET, make_wall

WORK = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        {forward}


def get_init_inputs():
    return []


def get_inputs():
    return [torch.ones(4)]
"""
# Stands in for Nsight Compute: runs the program that it is told to run, then reports on the kernels it was asked for.
TOOL = f"""#!{sys.executable}
import subprocess, sys, time
from pathlib import Path
words = sys.argv[1:]
said = dict(zip(words, words[1:]))
program = words[words.index(said["--log-file"]) + 1 :]
DO
Path(said["--log-file"]).write_text(REPORT)
sys.exit(code)
"""
RUN = "code = subprocess.call(program)"
REPORT = table([row(0, "relu", LOUD, "gpu__time_duration.sum", "ns", "5")])


@pytest.fixture(name="counted")
def _counted(tmp_path, monkeypatch):
    """Counters of the workload's one call under a tool that does and reports as it is told."""

    def run(do=RUN, report=REPORT, forward="return torch.relu(x)", timeout_s=60.0, question=AskCounters):
        program = tmp_path / "ncu"
        program.write_text(TOOL.replace("DO", do).replace("REPORT", repr(report)))
        program.chmod(0o755)
        monkeypatch.setattr(nsight, "find_program", lambda: str(program))
        monkeypatch.setattr(nsight, "forbidden", lambda: "")
        file = tmp_path / "work.py"
        file.write_text(WORK.replace("{forward}", forward))
        source = WorkloadSource(kind=SourceKind.FILE, where=str(file), digest="test")
        workload = Workload(name="test", source=source)
        requests = [
            Open(workload=workload, contract=CONTRACTS["fp32"], threads=1, construct_seed=1),
            Load(form=CompiledForm(mode="eager"), target=TARGET),
            question(),
        ]
        with make_wall(tmp_path, Limits(memory_bytes=4 * GIB)) as wall:
            return wall.counted(ChildRole.BASELINE, requests, ["relu"], timeout_s)

    return run


def test_what_the_tool_reports_comes_back(counted):
    launch = CountedLaunch(name="relu", grid=(40, 2, 1), block=(128, 1, 1), counters=KernelCounters(time_ns=5.0))
    assert counted().launches == (launch,)


def test_a_program_that_raises_says_so(counted):
    # Any question calls it, and this one imports no compiler.
    found = counted(forward='raise RuntimeError("no luck")', report="==WARNING== No kernels.\n", question=AskMemory)
    assert found.launches == () and "no luck" in found.because


def test_a_refusal_of_the_driver_comes_before_what_followed_from_it(counted):
    found = counted(do="code = 1", report="==ERROR== ERR_NVGPUCTRPERM - no\n")
    assert "may not read the GPU's counters" in found.because


def test_a_tool_that_dies_says_how(counted):
    found = counted(do="sys.exit(9)")
    assert (found.launches, found.because) == ((), "The process exited with status 9.")


def test_a_tool_that_hangs_is_ended(counted):
    began_s = time.monotonic()
    found = counted(do="time.sleep(600)", timeout_s=2.0)
    assert found.because == "It did not end within 2 s." and time.monotonic() - began_s < 30


def test_nothing_is_started_where_counters_cannot_be_read(tmp_path, monkeypatch):
    with make_wall(tmp_path) as wall:
        monkeypatch.setattr(nsight, "find_program", lambda: "")
        assert "not installed" in wall.counted(ChildRole.BASELINE, [], ["k"], 1.0).because
        monkeypatch.setattr(nsight, "find_program", lambda: "/x/ncu")
        monkeypatch.setattr(nsight, "forbidden", lambda: "this user may not")
        assert wall.counted(ChildRole.BASELINE, [], ["k"], 1.0).because == "this user may not"
