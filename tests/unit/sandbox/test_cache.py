"""Compile caches: kept for trusted children, healed after a violent end, given to candidates in part and as copies."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from strop.errors import ChildFault, StoreError
from strop.sandbox.cache import TrustedCache
from strop.sandbox.limits import MIB
from strop.sandbox.seed import plant
from strop.wire import messages as say
from strop.wire.messages import ChildRole
from tests.unit.sandbox.walls import LIMITS, load, make_wall


def write(path, text="library", age_s=0.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if age_s:
        os.utime(path, (time.time() - age_s,) * 2)
    return path


@pytest.fixture(name="kept")
def _kept(tmp_path):
    return tmp_path / "kept"


def test_a_candidate_starts_with_what_depends_on_no_workload(tmp_path, kept):
    write(kept / "inductor" / "ab" / "check.cpp", "int f();")
    write(kept / "inductor" / "ab" / "check.so")
    write(kept / "inductor" / "ab" / "alone.cpp", "int g();")
    write(kept / "inductor" / "cd" / "kernel.cpp", "x" * 5000)
    write(kept / "inductor" / "cd" / "kernel.so")
    for age in range(5):
        write(kept / "headers" / "precompiled_headers" / f"{age}.h", "#include", 100 * age)
        write(kept / "headers" / "precompiled_headers" / f"{age}.h.gch", "compiled", 100 * age)
    with make_wall(tmp_path, trusted_cache=kept) as wall:
        with wall.child(ChildRole.CANDIDATE) as child:
            scratch = child._process.scratch
            planted = {each.relative_to(scratch).as_posix() for each in scratch.rglob("*.*") if each.is_file()}
            folder = "tmp/torchinductor_strop/precompiled_headers"
            headers = {f"{folder}/{age}.{end}" for age in range(3) for end in ("h", "h.gch")}
            assert planted == {"cache/inductor/ab/check.cpp", "cache/inductor/ab/check.so", *headers}
            (scratch / "cache" / "inductor" / "ab" / "check.so").write_text("spoiled")
            assert plant(scratch, TrustedCache(kept), lambda _: None) == 0
        assert (kept / "inductor" / "ab" / "check.so").read_text() == "library"


def test_what_a_candidate_was_given_is_not_held_against_its_quota(tmp_path, kept):
    write(kept / "headers" / "precompiled_headers" / "1.h", "#include")
    write(kept / "headers" / "precompiled_headers" / "1.h.gch", "x" * 3 * MIB)
    tight = replace(LIMITS, disk_bytes=2 * MIB)
    with make_wall(tmp_path, limits=tight, trusted_cache=kept) as wall, wall.child(ChildRole.CANDIDATE) as child:
        child.ask(load("nothing"), say.Loaded, 20)
        assert not child._process.watch.over_disk()
        write(child._process.scratch / "its_own", "x" * 2 * MIB)
        assert child._process.watch.over_disk()


def test_trusted_children_keep_what_they_compiled(tmp_path, kept):
    with make_wall(tmp_path, trusted_cache=kept) as wall:
        with wall.child(ChildRole.BASELINE) as child:
            child.ask(load("nothing"), say.Loaded, 20)
            made = [write(kept / "inductor" / "ab" / "kernel.so")]
            made.append(write(child._process.scratch / "tmp" / "torchinductor_strop" / "x" / "y.h.gch"))
            assert len(list((kept / "users").iterdir())) == 1
        assert made[0].exists()
        assert (kept / "headers" / "x" / "y.h.gch").read_text() == "library"
        assert not list((kept / "users").iterdir())


@pytest.mark.parametrize("how", ["fault", "interrupt"])
def test_what_a_killed_child_was_writing_is_forgotten(tmp_path, kept, how):
    old = write(kept / "inductor" / "ab" / "old.so", age_s=100)
    with make_wall(tmp_path, trusted_cache=kept) as wall, wall.child(ChildRole.BASELINE) as child:
        torso = write(kept / "inductor" / "ab" / "torso.so")
        text = write(kept / "inductor" / "ab" / "torso.cpp")
        if how == "fault":
            with pytest.raises(ChildFault):
                child.ask(load("hang"), say.Loaded, 1.0)
        else:
            child._process.channel.receive = interrupted
            with pytest.raises(KeyboardInterrupt):
                child.ask(load("nothing"), say.Loaded, 1.0)
        child.close()
        assert old.exists()
        assert text.exists()
        assert not torso.exists()


def interrupted(_):
    raise KeyboardInterrupt


def test_a_child_that_raised_leaves_its_cache_alone(tmp_path, kept):
    with make_wall(tmp_path, trusted_cache=kept) as wall:
        with wall.child(ChildRole.BASELINE) as child:
            with pytest.raises(ChildFault, match="no good"):
                child.ask(load("fail"), say.Loaded, 20)
            made = write(kept / "inductor" / "ab" / "kernel.so")
        assert made.exists()


def test_the_next_run_heals_what_a_killed_run_left(tmp_path, kept):
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from strop.sandbox.cache import TrustedCache\n"
        "kept, scratch = Path(sys.argv[1]), Path(sys.argv[2])\n"
        "(scratch / 'tmp').mkdir(parents=True)\n"
        "loan = TrustedCache(kept).lend(scratch, 'one')\n"
        "(kept / 'inductor' / 'torso.so').write_text('half')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    old = write(kept / "inductor" / "old.so", age_s=100)
    subprocess.run([sys.executable, "-c", script, str(kept), str(tmp_path / "scratch")], check=False, timeout=60)
    torso, marker = kept / "inductor" / "torso.so", kept / "users" / "one"
    assert torso.exists()
    assert marker.exists()
    with make_wall(tmp_path, trusted_cache=kept):
        assert not torso.exists()
        assert not marker.exists()
        assert old.exists()


def test_healing_leaves_the_living_alone(tmp_path, kept):
    (tmp_path / "scratch" / "tmp").mkdir(parents=True)
    cache = TrustedCache(kept)
    loan = cache.lend(tmp_path / "scratch", "alive")
    made = write(kept / "inductor" / "kernel.so")
    TrustedCache(kept).heal()
    assert made.exists()
    loan.end(in_peace=True)
    assert made.exists()


def test_a_cache_that_cannot_be_used_says_what_to_do(tmp_path, kept):
    kept.write_text("a file")
    with make_wall(tmp_path, trusted_cache=kept) as wall, pytest.raises(StoreError, match="STROP_HOME"):
        wall.child(ChildRole.BASELINE).__enter__()
