"""The doctor turns whatever it finds into a sentence with a fix, and never raises over it."""

import pytest

from strop import wiring
from strop.api import doctor
from strop.targets import SHELF


@pytest.fixture
def quick(monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "home"))
    ceilings = wiring.Ceilings(copy_bytes_per_s=2e10, product_flop_per_s=(("float32", 1e11),), call_overhead_ns=900.0)
    monkeypatch.setattr(type(SHELF.get("cpu")), "measure_ceilings", lambda self, threads: ceilings)
    monkeypatch.setattr(doctor, "timing_spread", lambda: 0.02)
    return tmp_path


def states(found):
    return {each.name: str(each.state) for each in found.findings}


def test_a_healthy_machine(quick):
    found = doctor.examine()
    assert found.healthy
    assert states(found).keys() >= {
        "python", "torch", "c++ compiler", "profiler", "home", "disk", "memory", "ledger", "cpu", "isolation", "noise",
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
        ("2.14.0", "warning", "The newest tested torch is 2.13. Beyond it every hook"),
        ("3.0.0a0+git1", "warning", "newest tested"),
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
