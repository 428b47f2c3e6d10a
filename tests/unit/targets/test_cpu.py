"""The processor: what it is, what it has, and ceilings that are figures of this world."""

import subprocess
import sys

import pytest

from strop.targets import SHELF, _caches, cpu
from strop.targets._base import TargetKind
from strop.wire.codec import decode, encode


def test_it_is_on_the_shelf_and_always_present():
    item = SHELF.get("cpu")
    assert isinstance(item, TargetKind)
    assert item.present()
    assert item.synchronise() is None
    assert "cpu" in SHELF.names()
    assert not any(name.startswith("_") for name in SHELF.names())


def test_its_record_is_complete_and_crosses_the_wall(monkeypatch):
    shrink(monkeypatch)
    target = cpu.ITEM.describe(cpu.ITEM.measure_ceilings(1), 1)
    assert decode(type(target), encode(target)) == target
    assert 16 * 1024 <= target.last_level_cache_bytes < 4 << 30
    assert target.memory[-1].name == "memory"
    assert target.memory[-1].size_bytes > target.last_level_cache_bytes
    assert "1 thread of" in target.summary
    assert target.threads == 1


def test_ceilings_are_figures_of_this_world(monkeypatch):
    import torch

    shrink(monkeypatch)
    before = torch.get_num_threads()
    ceilings = cpu.ITEM.measure_ceilings(1)
    assert torch.get_num_threads() == before
    assert 1e8 < ceilings.copy_bytes_per_s < 5e12
    rates = dict(ceilings.product_flop_per_s)
    assert set(rates) == {"float32", "float64", "bfloat16"}
    assert all(1e8 < rate < 1e14 for rate in rates.values())
    assert 20 < ceilings.call_overhead_ns < 1e6


def shrink(monkeypatch):
    monkeypatch.setattr(cpu, "REPEATS", 2)
    monkeypatch.setattr(cpu, "MAX_COPY_BYTES", 1 << 24)
    monkeypatch.setattr(cpu, "PRODUCT_SIZES", (128,))
    monkeypatch.setattr(cpu, "TINY_CALLS", 100)


def test_asking_for_caches_brings_no_torch():
    script = (
        "import sys\nfrom strop.targets import SHELF\nSHELF.get('cpu').identity()\nsys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0


def test_caches_are_read_from_sysfs(tmp_path):
    for index, (kind, level, size) in enumerate(
        [("Data", 1, "48K"), ("Instruction", 1, "64K"), ("Unified", 2, "2M"), ("Unified", 3, "36864K")]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    found = {level.name: level.size_bytes for level in _caches.cache_levels(tmp_path)}
    assert found == {"L1": 48 << 10, "L2": 2 << 20, "L3": 36864 << 10}


def test_without_sysfs_and_sysconf_a_large_cache_is_assumed(tmp_path, monkeypatch):
    monkeypatch.setattr(_caches, "_SYSCONF", {"L3": -5})
    (level,) = _caches.cache_levels(tmp_path)
    assert level.size_bytes == _caches.UNKNOWN_CACHE_BYTES


def test_model_and_features_come_from_cpuinfo(tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text("processor : 0\nmodel name : Some Chip 9\nflags : fpu avx2 fma amx_bf16\n\nmodel name : Other\n")
    assert _caches.model_name(info) == "Some Chip 9"
    assert _caches.features(info) == ("avx2", "fma", "amx_bf16")
    assert _caches.model_name(tmp_path / "none")


@pytest.mark.parametrize("key", ["model", "features", "cores", "caches"])
def test_its_identity_says_what_speed_depends_on(key):
    assert key in cpu.ITEM.identity()
    assert dict(cpu.ITEM.identity()) == dict(cpu.ITEM.identity())
