"""The doctor turns whatever it finds into a sentence with a fix, and never raises over it."""

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from strop import wiring
from strop.api import doctor
from strop.lowering import torch_shims
from strop.records.target import Ceilings, Multiprocessor, Target
from strop.sandbox import isolation
from strop.targets import SHELF


@pytest.fixture
def quick(monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "home"))
    ceilings = Ceilings(copy_bytes_per_s=2e10, product_flop_per_s=(("float32", 1e11),), call_overhead_ns=900.0)
    monkeypatch.setattr(wiring, "measure_apart", lambda name, threads: ceilings)
    monkeypatch.setattr(doctor, "timing_spread", lambda: 0.02)
    return tmp_path


def states(found):
    return {each.name: str(each.state) for each in found.findings}


def test_a_healthy_machine(quick):
    found = doctor.examine()
    assert found.healthy
    assert states(found).keys() >= {
        "python", "torch", "c++ compiler", "profiler", "home", "disk", "memory", "ledger", "clocks", "cpu", "isolation",
        "noise",
    }  # fmt: skip
    said = {each.name: each for each in found.findings}
    assert said["cpu"].found == "copies 20 GB/s; products float32 100 Gflop/s; 900 ns per call; 1 thread"
    assert [each.name for each in found.targets] == ["cpu"]
    assert all(each.fix for each in found.findings if each.state is not doctor.State.OK)


@pytest.mark.parametrize(
    ("installed", "state", "says"),
    [
        ("2.10.0", "problem", "Install torch 2.11 or newer"),
        ("2.11.0+cu130", "ok", ""),
        ("2.13.0+cpu", "ok", ""),
        ("2.14.0", "ok", ""),
        (
            "2.15.0",
            "warning",
            "tried with is 2.14. Beyond it these private doors into torch close themselves: compile_fx",
        ),
        ("3.0.0a0+git1", "warning", "tried with"),
    ],
)
def test_versions_of_torch(installed, state, says):
    found = doctor.torch_finding(installed)
    assert (str(found.state), found.found) == (state, installed)
    assert says in found.fix


def test_no_compiler_is_a_problem_with_a_fix(quick, monkeypatch):
    monkeypatch.setattr(doctor, "compiler_version", lambda: "")
    found = doctor.examine()
    assert not found.healthy
    assert states(found)["c++ compiler"] == "problem"


def test_a_home_that_cannot_be_written(quick, monkeypatch):
    (quick / "file").write_text("")
    monkeypatch.setenv("STROP_HOME", str(quick / "file" / "home"))
    found = doctor.examine()
    assert states(found)["home"] == "problem"
    assert states(found)["ledger"] == "problem"
    assert not found.healthy


def test_a_ledger_that_is_none(quick):
    (quick / "x.sqlite").write_text("no database at all" * 100)
    found = doctor.examine(str(quick / "x.sqlite"))
    (ledger,) = [each for each in found.findings if each.name == "ledger"]
    assert ledger.state is doctor.State.PROBLEM
    assert "x.sqlite" in ledger.fix


def test_a_noisy_machine_and_a_full_disk_are_warnings(quick, monkeypatch):
    monkeypatch.setattr(doctor, "timing_spread", lambda: 0.5)
    monkeypatch.setattr(doctor, "LEAST_DISK_BYTES", 10**18)
    monkeypatch.setattr(doctor, "LEAST_MEMORY_BYTES", 10**18)
    monkeypatch.setenv("STROP_DISABLE", "1")
    found = doctor.examine()
    seen = states(found)
    assert (seen["noise"], seen["disk"], seen["memory"], seen["switch"]) == ("warning",) * 4
    assert found.healthy


def test_no_target_at_all(quick, monkeypatch):
    monkeypatch.setattr(type(SHELF.get("cpu")), "present", lambda self: False)
    found = doctor.examine()
    if not found.targets:
        assert states(found)["targets"] == "problem"


def test_the_spread_of_a_loop_is_a_share():
    assert 0.0 <= doctor.timing_spread(rounds=12) < 100.0


@pytest.mark.parametrize("numbers", [doctor.NEWEST_TRIED_TORCH, (doctor.NEWEST_TRIED_TORCH[0], 99)])
def test_what_is_said_of_a_torch_is_what_the_doors_do(numbers, monkeypatch):
    monkeypatch.setattr(torch_shims, "torch_version", lambda: numbers)
    monkeypatch.setattr(torch_shims, "_closed", set())
    doors = list(torch_shims.DOORS.values())
    is_open = [torch_shims.is_open(name) for name in torch_shims.DOORS]
    said = doctor.torch_finding(".".join(map(str, numbers)))
    assert is_open == [said.state is doctor.State.OK] * len(is_open)
    assert all((door.without in said.fix) is not opened for door, opened in zip(doors, is_open, strict=True))


def test_looking_makes_no_ledger(quick):
    said = {each.name: each for each in doctor.examine().findings}
    assert said["ledger"].state is doctor.State.OK
    assert "none yet" in said["ledger"].found
    said = {each.name: each for each in doctor.examine(str(quick / "typo")).findings}
    assert said["ledger"].state is doctor.State.WARNING
    assert "There is no ledger at" in said["ledger"].fix
    assert not (quick / "typo").exists() and not (quick / "home" / "ledger.sqlite").exists()


def machine(folder, governor=None, kilohertz=None, source=None):
    """What Linux says below /sys/devices/system, for every processor."""
    for number in os.sched_getaffinity(0):
        place = folder / "cpu" / f"cpu{number}" / "cpufreq"
        place.mkdir(parents=True)
        for name, value in (("scaling_governor", governor), ("scaling_cur_freq", kilohertz)):
            if value:
                (place / name).write_text(f"{value}\n")
    if source:
        place = folder / "clocksource" / "clocksource0"
        place.mkdir(parents=True)
        (place / "current_clocksource").write_text(f"{source}\n")
    return folder


def test_clocks(tmp_path):
    found = doctor.clocks_finding(machine(tmp_path / "a", "performance", 3_400_000, "tsc"))
    assert (found.name, found.state, found.fix) == ("clocks", doctor.State.OK, "")
    assert found.found.endswith("from tsc; governor performance, 3.40 GHz now")
    assert found.found.startswith("monotonic clock in steps of ")
    found = doctor.clocks_finding(machine(tmp_path / "b", "powersave", 800_000))
    assert found.state is doctor.State.WARNING
    assert "cpupower frequency-set -g performance" in found.fix
    found = doctor.clocks_finding(tmp_path / "nothing")
    assert found.state is doctor.State.OK
    assert "the governor cannot be read here; the processor's frequency cannot be read here" in found.found


def test_a_coarse_clock(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.time, "get_clock_info", lambda name: SimpleNamespace(resolution=0.004))
    found = doctor.clocks_finding(tmp_path)
    assert found.found.startswith("monotonic clock in steps of 4 ms") and "high-resolution timers" in found.fix


def test_counters_are_looked_for_where_there_is_an_accelerator(monkeypatch):
    ceilings = Ceilings(copy_bytes_per_s=1.0, product_flop_per_s=(("float32", 1.0),), call_overhead_ns=1.0)
    host = Target(name="t", device="d", summary="", languages=(), memory=(), ceilings=ceilings)
    limits = Multiprocessor(count=1, threads=2048, blocks=32, registers=65536, shared_bytes=1)
    device = replace(host, multiprocessor=limits)
    assert list(doctor.counters_finding([host])) == []
    for program, because, state, fix in (
        ("", "", doctor.State.WARNING, "Install Nsight Compute"),
        ("/x/ncu", "this user may not.", doctor.State.WARNING, "This user may not. Without it"),
        ("/x/ncu", "", doctor.State.OK, ""),
    ):
        monkeypatch.setattr(doctor.nsight, "find_program", lambda found=program: found)
        monkeypatch.setattr(doctor.nsight, "forbidden", lambda why=because: why)
        (finding,) = doctor.counters_finding([host, device])
        assert finding.state is state and finding.fix.startswith(fix)


@pytest.mark.parametrize(
    ("asked", "stands_against", "found", "says"),
    [
        ("", {}, "grade A", ""),
        ("B", {}, "grade B", "Set STROP_ISOLATION=A for grade A."),
        ("", {"A": "no namespaces"}, "grade B", "For grade A, let this user create namespaces"),
        ("", {"A": "no namespaces", "B": "no Landlock"}, "grade C", "Landlock and seccomp switched on: no Landlock."),
    ],
)
def test_what_stands_against_a_better_grade_is_said(quick, monkeypatch, asked, stands_against, found, says):
    for module in (doctor, isolation, wiring):
        monkeypatch.setattr(module, "why_not", lambda grade: stands_against.get(grade, ""))
    monkeypatch.setenv("STROP_ISOLATION", asked)
    said = {each.name: each for each in doctor.examine().findings}["isolation"]
    assert said.found == found and says in said.fix and bool(said.fix) == bool(says)
