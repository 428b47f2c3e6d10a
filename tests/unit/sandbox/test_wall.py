"""Children on demand: what they see, what they are lent, the clock, the spares, and the lock of the device."""

import subprocess
import sys
import threading
import time

import pytest
import torch

from strop.errors import ChildFault, StoreError
from strop.records.evidence import CrashKind, Stage
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Leaf
from strop.sandbox.isolation import best_grade
from strop.sandbox.limits import machine_limits, machine_memory_bytes
from strop.sandbox.processes import marked
from strop.sandbox.wall import LocalWall
from strop.settings import Settings
from strop.wire import messages as say
from strop.wire.layout import plan_layout
from strop.wire.messages import ChildRole
from tests.unit.sandbox.walls import load, make_wall

X = Leaf(path="x", tensor=TensorSpec(shape=(16, 3), dtype=DType.FLOAT32))
EXTRA = Leaf(path="y", tensor=TensorSpec(shape=(5,), dtype=DType.FLOAT32))


def lend(child, slots=3, made=(X,)):
    child.map(plan_layout([], [X], slots), plan_layout([], list(made), slots))
    generator = torch.Generator().manual_seed(0)
    for slot in range(slots):
        child.given.write(slot, {"x": torch.randn(16, 3, generator=generator)})


def test_a_run_fills_what_was_lent(child):
    lend(child, made=(X, EXTRA))
    child.made.poison(range(3))
    child.ask(say.Run(slot=1), say.Ran, 20)
    assert child.made.unwritten(1) == {"x": 0, "y": 5}
    assert child.made.unwritten(0) == {"x": 48, "y": 5}
    assert torch.equal(child.made.views(1)["x"], child.given.views(1)["x"] * 2)


def test_the_clock_covers_the_calls_and_the_copy(child):
    lend(child)
    child.made.poison(range(3))
    before = time.monotonic_ns()
    took_ns = child.time_calls(50, 2, 20)
    assert 0 < took_ns < time.monotonic_ns() - before
    assert child.made.unwritten(0) == child.made.unwritten(2) == {"x": 0}
    child.made.views(2)["x"].zero_()
    assert torch.equal(child.stopped()["x"], child.given.views(2)["x"] * 2)
    assert child.time_calls(20_000, 0, 60) > took_ns


def test_what_raises_in_the_clock_is_told(child):
    lend(child)
    with pytest.raises(ChildFault, match="no good"):
        child.ask(load("fail"), say.Loaded, 20)
    with pytest.raises(ChildFault, match="in the clock") as caught:
        child.time_calls(1, 0, 20)
    assert (caught.value.evidence.kind, caught.value.evidence.stage) == (CrashKind.RAISED, Stage.TIME)


def test_timed_calls_have_a_deadline(child):
    lend(child)
    with pytest.raises(ChildFault, match=r"3000000000 timed calls within 0\.5 s") as caught:
        child.time_calls(3_000_000_000, 0, 0.5)
    assert caught.value.evidence.kind is CrashKind.TIMEOUT


def test_it_is_lent_more_later(child):
    lend(child, slots=1)
    lend(child, slots=40)
    child.made.poison(range(40))
    child.time_calls(40, 0, 20)
    assert {child.made.unwritten(slot)["x"] for slot in range(40)} == {0}


@pytest.mark.parametrize("deed", ["truncate", "seal"])
def test_a_child_cannot_take_the_memory_away(child, deed):
    lend(child)
    child.ask(load(deed), say.Loaded, 20)
    lend(child, slots=30)
    child.made.poison(range(30))
    child.ask(say.Run(slot=29), say.Ran, 20)
    assert child.made.unwritten(29) == {"x": 0}
    assert child.made.snapshot().numel() == child.made.layout.total_bytes


def environment_of(child):
    child.ask(load("print_environment"), say.Loaded, 20)
    deadline = time.monotonic() + 5
    while "fds" not in child.log_tail() and time.monotonic() < deadline:
        time.sleep(0.02)
    return dict(line.split("=", 1) for line in child.log_tail().splitlines() if "=" in line)


def test_the_environment_is_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    cache = tmp_path / "kept"
    with make_wall(tmp_path, threads=2, trusted_cache=cache, extra={"CC": "gcc", "HOME": "/root"}) as wall:
        seen = {}
        for role in (ChildRole.BASELINE, ChildRole.CANDIDATE):
            with wall.child(role) as child:
                seen[role] = environment_of(child)
                scratch = str(child._process.scratch)
                assert f"cwd {scratch} stdin /dev/null" in child.log_tail()
                assert len(child.log_tail().partition("fds [")[2].split(",")) == 7
                assert seen[role]["HOME"] == scratch
    trusted, untrusted = seen[ChildRole.BASELINE], seen[ChildRole.CANDIDATE]
    assert trusted["TORCHINDUCTOR_CACHE_DIR"] == str(cache / "inductor")
    assert untrusted["TORCHINDUCTOR_CACHE_DIR"].startswith(untrusted["HOME"])
    assert untrusted["OMP_NUM_THREADS"] == "2"
    assert untrusted["CC"] == "gcc"
    assert "AWS_SECRET_ACCESS_KEY" not in untrusted
    place = {"HOME", "TMPDIR", "STROP_CHILD"} | {key for key in trusted if key.startswith(("TORCH", "TRITON"))}
    assert {key: trusted[key] for key in trusted if key not in place} == {
        key: untrusted[key] for key in untrusted if key not in place
    }


def test_spares_are_fresh_and_end_with_the_wall(tmp_path):
    with make_wall(tmp_path, ahead={ChildRole.CANDIDATE: 1}) as wall:
        with wall.child(ChildRole.CANDIDATE) as first:
            first.ask(load("nothing"), say.Loaded, 20)
            (spare,) = wall._pool._spares[ChildRole.CANDIDATE]
        with wall.child(ChildRole.CANDIDATE) as second:
            assert second._process is spare
            assert second._process is not first._process
            second.ask(load("nothing"), say.Loaded, 20)
        (left,) = wall._pool._spares[ChildRole.CANDIDATE]
        assert left not in (first._process, second._process)
    assert not marked(left.token)


def test_a_dead_spare_is_replaced(tmp_path):
    with make_wall(tmp_path, ahead={ChildRole.REFERENCE: 1}) as wall:
        wall.prepare()
        (spare,) = wall._pool._spares[ChildRole.REFERENCE]
        spare.kill()
        assert spare.status.wait(5)
        with wall.child(ChildRole.REFERENCE) as child:
            assert child._process is not spare
            child.ask(load("nothing"), say.Loaded, 20)


def test_several_spares_are_used_in_the_order_in_which_they_were_started(tmp_path):
    with make_wall(tmp_path, ahead={ChildRole.BASELINE: 2}) as wall:
        wall.prepare()
        first, second = wall._pool._spares[ChildRole.BASELINE]
        first.kill()
        assert first.status.wait(5)
        with wall.child(ChildRole.BASELINE) as child:
            assert child._process is second
            assert len(wall._pool._spares[ChildRole.BASELINE]) == 2
            child.ask(load("nothing"), say.Loaded, 20)
        wall.prepare()
        spares = [each for role in ChildRole for each in wall._pool._spares[role]]
        assert len(spares) == 2, "no more than are kept"
    assert not any(marked(spare.token) for spare in spares)


def test_a_lease_starts_nothing_ahead_and_waits_for_what_warms_up(tmp_path):
    with make_wall(tmp_path, ahead={ChildRole.CANDIDATE: 1}) as wall:
        wall.prepare()
        with wall.device_lock("null", still=True):
            (spare,) = wall._pool._spares[ChildRole.CANDIDATE]
            began = time.monotonic()
            child = wall._pool.take(ChildRole.CANDIDATE)
            assert child is spare
            assert not wall._pool._spares[ChildRole.CANDIDATE]
            child.end()
            assert time.monotonic() - began < 5
        with wall.child(ChildRole.CANDIDATE):
            assert wall._pool._spares[ChildRole.CANDIDATE]


def test_the_lock_excludes_other_processes_and_counts_its_time(tmp_path):
    with make_wall(tmp_path) as wall:
        script = "import fcntl, sys\nfile = open(sys.argv[1], 'w')\nfcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        command = [sys.executable, "-c", script, str(tmp_path / "home" / "locks" / "null_0.lock")]
        with wall.device_lock("null:0", still=True), wall.device_lock("null:0", still=True):
            time.sleep(0.2)
            assert subprocess.run(command, capture_output=True, check=False).returncode != 0
        held_s = wall.held_s("null:0")
        assert 0.2 <= held_s < 20
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
        assert wall.held_s("null:0") == held_s
        assert wall.held_s("other") == 0


def test_the_lock_excludes_other_walls(tmp_path):
    order = []

    def second():
        with make_wall(tmp_path) as wall, wall.device_lock("null", still=True):
            order.append("second")

    with make_wall(tmp_path) as wall:
        with wall.device_lock("null", still=True):
            thread = threading.Thread(target=second)
            thread.start()
            time.sleep(0.2)
            order.append("first")
        thread.join(20)
    assert order == ["first", "second"]


def test_a_lock_that_cannot_be_made_says_what_to_do(tmp_path):
    (tmp_path / "home").write_text("a file")
    with (
        make_wall(tmp_path) as wall,
        pytest.raises(StoreError, match="STROP_HOME"),
        wall.device_lock("null", still=True),
    ):
        pass


def test_a_container_may_have_less_memory_than_the_machine(tmp_path):
    whole = machine_memory_bytes(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert machine_memory_bytes(tmp_path) == whole
    (tmp_path / "memory.max").write_text("1000000\n")
    assert machine_memory_bytes(tmp_path) == 1_000_000
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert machine_memory_bytes(tmp_path) == 1_000_000


def test_the_default_wall_leaves_memory_to_the_machine(tmp_path):
    wall = LocalWall(Settings(home=tmp_path))
    assert wall.isolation == best_grade()
    assert wall.limits.memory_bytes == machine_limits().memory_bytes
    assert set(wall.limits.seconds_s) == set(Stage)
