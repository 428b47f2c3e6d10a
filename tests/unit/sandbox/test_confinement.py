"""What a candidate's process can reach, by grade, as this user and as another one."""

import os
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest

from strop.errors import ChildFault
from strop.sandbox import isolation, landlock, seccomp
from strop.sandbox.environment import PACKAGE_FOLDER
from strop.sandbox.isolation import Grade, best_grade, layers_of, why_not
from strop.sandbox.launcher import LAYERS, NAMESPACES
from strop.wire import messages as say
from strop.wire.messages import ChildRole
from tests.unit.sandbox.confined_worker import DEEDS, SECRET
from tests.unit.sandbox.walls import load, make_wall

CONFINED = [Grade.A, Grade.B]
NOBODY = 65534


def needs(grade):
    if why_not(grade):
        pytest.skip(f"no grade {grade} here: {why_not(grade)}")


def does(child, deed):
    """Whether the child's deed ends without a word; else what it said."""
    try:
        child.ask(load(deed), say.Loaded, 20.0)
    except ChildFault as fault:
        return fault.evidence.detail
    return ""


@pytest.fixture(params=CONFINED, ids=str)
def confined(request, tmp_path):
    needs(request.param)
    with make_wall(tmp_path, isolation=request.param) as wall, wall.child(ChildRole.CANDIDATE) as child:
        yield request.param, child


@pytest.fixture
def secretive():
    """A process of this user with something to hide."""
    with subprocess.Popen(["sleep", "60"], env={SECRET: "hidden"}) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("deed", DEEDS)
def test_nothing_of_this_gets_out(confined, deed, secretive):
    grade, child = confined
    said = does(child, deed)
    if grade is Grade.B and deed == "share_memory":
        assert "Permission denied" in said, "what lies there is not its own"
    else:
        assert said == ""
    assert secretive.poll() is None and does(child, "speak") == "", "everybody lives, and it can be asked again"
    assert not Path("/dev/shm/strop-was-here").exists()


def test_without_confinement_all_of_it_works(tmp_path, secretive):
    """The deeds are real ones: what is refused above is not refused here."""
    with make_wall(tmp_path, isolation=Grade.C) as wall, wall.child(ChildRole.CANDIDATE) as child:
        for deed in (
            *("read_environments", "reach_the_network", "reach_a_bound_socket", "write_outside"),
            *("hinder_others", "change_attributes", "ask_devices"),
        ):
            assert "worked" in (said := does(child, deed)) or "has the secret" in said
    for folder in (tmp_path, Path(tmp_path.parent), Path("/tmp"), Path("/var/tmp"), Path("/")):
        for left in folder.glob("strop-was-here"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()


@pytest.mark.parametrize("role", [ChildRole.REFERENCE, ChildRole.BASELINE])
def test_who_is_trusted_is_not_confined(role, tmp_path):
    with make_wall(tmp_path) as wall, wall.child(role) as child:
        assert "a socket worked" in does(child, "reach_the_network")


def test_a_recipe_may_write_to_the_cache_that_it_is_lent(tmp_path):
    cache = tmp_path / "cache"
    with make_wall(tmp_path, trusted_cache=cache) as wall, wall.child(ChildRole.RECIPE) as child:
        assert does(child, "write_outside") == "" and str(cache) in child._process._keeper.plan.writable


def as_nobody(program):
    """What a program prints that runs as an ordinary user."""
    python = shutil.which("python3", path="/usr/bin")
    if python is None or not os.access(PACKAGE_FOLDER, os.R_OK):
        pytest.skip("no interpreter that everybody can use")
    version = subprocess.run([python, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True)
    if b"True" not in version.stdout:
        pytest.skip("the system's interpreter is too old")
    become = (
        f"import os, sys; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY});"
        f"sys.path.insert(0, {str(PACKAGE_FOLDER)!r});"
    )
    done = subprocess.run([python, "-I", "-S", "-c", become + program], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("grade", CONFINED)
def test_an_ordinary_user_reaches_the_same_grades(grade):
    program = f"from strop.sandbox.isolation import *; print(os.getuid(), repr(why_not(Grade.{grade})))"
    assert as_nobody(program) == [str(NOBODY), "''"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_memory_of_a_process_that_forbids_looking_into_it_counts():
    hides = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); held = bytearray(64 << 20); print(); input()"
    program = f"""
import subprocess
from strop.sandbox.processes import proportional_bytes
with subprocess.Popen([sys.executable, "-c", {hides!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hidden:
    hidden.stdout.readline()
    print(proportional_bytes([hidden.pid], 0) >> 20)
    hidden.kill()
"""
    (held,) = as_nobody(program)
    assert int(held) >= 64


def test_a_layer_that_fails_is_a_refusal_and_the_grade_below_is_tried(monkeypatch):
    monkeypatch.setattr(isolation, "layers_of", lambda grade: ("no_such_layer",))
    why_not.cache_clear()
    try:
        assert "could not be started: 'no_such_layer'" in why_not(Grade.A)
        assert best_grade() is Grade.C
    finally:
        why_not.cache_clear()


def test_a_kernel_whose_landlock_lets_through_what_the_grade_refuses_does_not_give_it(monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 4)
    with pytest.raises(OSError, match="has version 4, and 6 is needed"):
        landlock.restrict([], landlock.SIGNALS_SINCE)


def test_the_locks_of_devices_cannot_be_taken_in_grade_a(tmp_path):
    """Whoever can read a lock can take it, and whoever waits for the device would wait for ever."""
    needs(Grade.A)
    lock = tmp_path / "home" / "locks" / "null.lock"
    taking = ["/bin/sh", "-c", f"echo looks; test -e {lock} && echo found; sleep 20"]
    with make_wall(tmp_path, isolation=Grade.A, command=lambda *_: taking) as wall:
        with wall.device_lock("null", still=False):
            assert lock.exists()
        with wall.child(ChildRole.CANDIDATE) as child:
            tail = child._process.watch.tail
            until_s = time.monotonic() + 10.0
            while "looks" not in tail() and time.monotonic() < until_s:
                time.sleep(0.01)
            time.sleep(0.1)
            assert tail() == "looks\n"


def test_every_layer_is_known_to_the_keeper():
    for grade in Grade:
        assert set(layers_of(grade)) <= {*LAYERS, NAMESPACES}
    assert len(layers_of(Grade.A)) > len(layers_of(Grade.B)) > len(layers_of(Grade.C))


def verdicts(machine, calls):
    """What the filter says about calls, each a number and its first two arguments, by running its instructions."""
    code = seccomp.program(machine)
    lines = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    architecture = seccomp._MACHINES[machine][0]
    return [_run(lines, {0: number, 4: architecture, 16: first, 24: second}) for number, first, second in calls]


def _run(lines, words):
    at, value = 0, 0
    while True:
        code, if_true, if_false, operand = lines[at]
        if code == 0x06:
            return operand
        if code == 0x20:
            value, at = words[operand], at + 1
            continue
        holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
        at += 1 + (if_true if holds else if_false)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_refuses_what_it_names_and_nothing_else(machine):
    _, refused, special = seccomp._MACHINES[machine]
    refusals = {0x00050000 | number for number in (1, 38)}
    named = {*refused.values(), *special.values()}
    assert all(each in refusals for each in verdicts(machine, [(number, 0, 0) for number in refused.values()]))
    free = [(number, 0, 0) for number in range(500) if number not in named]
    assert set(verdicts(machine, free)) == {0x7FFF0000}
    fine = [
        ("clone", 0x003D0F00, 0),
        ("prctl", 15, 0),
        ("socketpair", socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC),
        ("socketpair", socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK),
        ("socket", socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC),
        ("socket", socket.AF_UNIX, socket.SOCK_SEQPACKET),
        ("prlimit64", 0, 7),
        ("sched_setaffinity", 0, 128),
        ("ioctl", 3, 0x5401),
    ]
    foul = [
        ("clone", 0x10000000, 0),
        ("prctl", 22, 0),
        ("socketpair", socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC),
        ("socketpair", socket.AF_UNIX, socket.SOCK_RAW),
        ("socket", socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC),
        ("socket", socket.AF_INET, socket.SOCK_STREAM),
        ("socket", socket.AF_INET6, socket.SOCK_SEQPACKET),
        ("socket", socket.AF_VSOCK, socket.SOCK_STREAM),
        ("prlimit64", 4711, 7),
        ("sched_setaffinity", 4711, 128),
        *(("ioctl", 3, request) for request in seccomp._REQUESTS),
        ("clone3", 0, 0),
    ]
    assert set(verdicts(machine, [(special[name], *arguments) for name, *arguments in fine])) == {0x7FFF0000}
    assert set(verdicts(machine, [(special[name], *arguments) for name, *arguments in foul])) <= refusals
    assert _run([struct.unpack_from("=HBBI", seccomp.program(machine), at) for at in range(0, 24, 8)], {4: 1}) == (
        0x80000000
    ), "another architecture's calls have other numbers"


def test_an_unknown_machine_gets_no_filter():
    with pytest.raises(OSError, match="the system calls of riscv64 are not known"):
        seccomp.program("riscv64")
