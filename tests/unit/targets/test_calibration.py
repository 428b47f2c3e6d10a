"""Ceilings are measured once, apart, and kept for exactly the machine that they were measured on."""

import subprocess
import sys

import pytest

from strop.errors import InternalFault, StoreError
from strop.records.target import Ceilings
from strop.targets import SHELF, _calibration
from strop.targets._calibration import calibrate, calibration_path, measure_apart
from strop.wire.codec import decode
from tests.unit.targets.null_target import NULL_CEILINGS, NullTarget


class Meter:
    def __init__(self):
        self.calls, self.said = [], []

    def __call__(self, name, threads):
        self.calls.append((name, threads))
        return NULL_CEILINGS


def read(home, meter, kind=None, threads=1, **more):
    return calibrate(kind or NullTarget(), home, threads, measure=meter, say=meter.said.append, **more)


def test_it_measures_once_per_machine_and_thread_count(tmp_path):
    meter = Meter()
    first = read(tmp_path, meter)
    assert read(tmp_path, meter) == first
    assert meter.calls == [("null", 1)]
    assert meter.said == ["measuring the ceilings of null, which happens once per machine"]
    assert read(tmp_path, meter, threads=2).threads == 2
    read(tmp_path, meter, NullTarget(model="two"))
    assert meter.calls == [("null", 1), ("null", 2), ("null", 1)]
    read(tmp_path, meter, again=True)
    assert len(meter.calls) == 4


def test_another_torch_is_another_machine(tmp_path, monkeypatch):
    meter = Meter()
    read(tmp_path, meter)
    monkeypatch.setattr(_calibration, "_torch_version", lambda: "9.9")
    read(tmp_path, meter)
    assert len(meter.calls) == 2


@pytest.mark.parametrize("text", ["", "{", '{"copy_bytes_per_s": 1}', '{"unknown": 2}'])
def test_a_broken_file_is_measured_again(tmp_path, text):
    meter = Meter()
    path = calibration_path(NullTarget(), tmp_path, 1)
    path.parent.mkdir()
    path.write_text(text)
    assert read(tmp_path, meter).ceilings == NULL_CEILINGS
    assert decode(Ceilings, path.read_bytes()) == NULL_CEILINGS
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_folder_that_cannot_be_used_is_told(tmp_path):
    (tmp_path / "calibration").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="STROP_HOME"):
        read(tmp_path, Meter())


def test_the_measuring_process_speaks_json(monkeypatch):
    seen = {}

    def fake_run(command, **more):
        seen.update(more, command=command)
        return subprocess.CompletedProcess(command, 0, '{"copy_bytes_per_s":1.0,"product_flop_per_s":[["f",2.0]],'
                                           '"call_overhead_ns":3.0}', "")  # fmt: skip

    monkeypatch.setattr(subprocess, "run", fake_run)
    assert measure_apart("null", 3).call_overhead_ns == 3.0
    assert seen["command"] == [sys.executable, "-m", "strop.targets._calibration", "null", "3"]
    assert seen["env"]["OMP_NUM_THREADS"] == "3"


def test_a_measuring_process_that_fails_is_our_fault():
    with pytest.raises(InternalFault, match="no target named 'nothing'"):
        measure_apart("nothing", 1)


@pytest.mark.slow
def test_the_real_thing(tmp_path):
    kind = SHELF.get("cpu")
    first = calibrate(kind, tmp_path, 1, measure=measure_apart, say=str)
    assert first.ceilings.copy_bytes_per_s > 1e8
    assert calibrate(kind, tmp_path, 1, measure=measure_apart, say=str) == first
