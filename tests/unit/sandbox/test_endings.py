"""Every way in which a child can end has one word, and none of them harms the parent."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from strop.errors import ChildFault
from strop.records.evidence import CrashKind, Stage
from strop.sandbox.isolation import Grade, best_grade
from strop.sandbox.processes import descendants, marked
from strop.wire import messages as say
from strop.wire.messages import ChildRole
from tests.unit.sandbox.walls import load, make_wall


def fault(child, request, answer=say.Loaded, timeout_s=20.0):
    with pytest.raises(ChildFault) as caught:
        child.ask(request, answer, timeout_s)
    return caught.value.evidence


@pytest.mark.parametrize(
    ("deed", "kind", "words"),
    [
        ("leave", CrashKind.EXITED, "exited with status 0 before it answered 'load'"),
        ("half_a_frame", CrashKind.EXITED, "exited with status 3"),
        ("crash", CrashKind.SIGNAL, "was ended by SIGSEGV"),
        ("flood", CrashKind.OUTPUT, "printed more than 2 MiB"),
        ("fill_disk", CrashKind.DISK, "quota is 24 MiB"),
        ("fill_one_file", CrashKind.DISK, "File too large"),
        ("eat_memory", CrashKind.MEMORY, "the limit is 256 MiB"),
        ("eat_shared_memory", CrashKind.MEMORY, "the limit is 256 MiB"),
        ("bomb", CrashKind.PROCESSES, "the limit is 24"),
        ("garbage", CrashKind.PROTOCOL, "does not begin with its mark"),
        ("wrong_json", CrashKind.PROTOCOL, "JSON"),
        ("wrong_reply", CrashKind.PROTOCOL, "broke the format in answer to 'load'"),
        ("close_pipe", CrashKind.PROTOCOL, "closed its pipe"),
        ("fail", CrashKind.RAISED, "no good"),
        ("fail_on_device", CrashKind.DEVICE, "illegal memory access"),
        ("fail_for_memory", CrashKind.MEMORY, "out of memory"),
    ],
)
def test_every_ending_has_its_word(child, deed, kind, words):
    evidence = fault(child, load(deed))
    if deed == "fill_one_file":
        # Either the quota's watch or the limit on one file is the first to see it.
        words = words if words in evidence.detail else "quota"
    assert (evidence.kind, words in evidence.detail) == (kind, True), evidence
    assert evidence.stage is Stage.BUILD


def test_a_keeper_that_its_child_kills_takes_everything_with_it(tmp_path):
    with make_wall(tmp_path, isolation=Grade.C) as wall, wall.child(ChildRole.CANDIDATE) as child:
        evidence = fault(child, load("orphan_then_kill_keeper"))
        assert (evidence.kind, "its keeper was killed" in evidence.detail) == (CrashKind.SIGNAL, True)


@pytest.mark.skipif(best_grade() is Grade.C, reason="this machine has no such layers")
def test_a_confined_child_cannot_kill_its_keeper(child):
    evidence = fault(child, load("orphan_then_kill_keeper"))
    assert (evidence.kind, "Operation not permitted" in evidence.detail) == (CrashKind.RAISED, True)


def test_a_process_that_the_device_refuses_is_ended_and_its_fault_stays(child):
    first = fault(child, load("fail_on_device"))
    assert not descendants(child._process._keeper.pid)
    assert fault(child, load("speak")) == first


def test_a_process_whose_memory_ran_out_may_go_on(child):
    fault(child, load("fail_for_memory"))
    assert child.ask(load("speak"), say.Loaded, 20.0)


def test_a_child_that_hangs_is_ended_at_its_deadline(child):
    began = time.monotonic()
    evidence = fault(child, load("hang"), timeout_s=1.0)
    assert evidence.kind is CrashKind.TIMEOUT
    assert "gave no answer to 'load' within 1 s" in evidence.detail
    assert time.monotonic() - began < 8


def test_a_child_that_never_reads_is_ended_at_its_deadline(child):
    child.ask(load("nothing"), say.Loaded, 20)
    os.kill(child._process.status.pid, 19)
    evidence = fault(child, load("x" * (1 << 20)), timeout_s=0.5)
    assert evidence.kind is CrashKind.TIMEOUT


def test_after_a_fault_every_call_repeats_it(child):
    first = fault(child, load("leave"))
    assert fault(child, say.Describe(), say.Done) == first
    with pytest.raises(ChildFault, match="exited with status 0"):
        child.time_calls(1, 0, 1.0)


def test_a_child_that_raised_can_be_asked_again(child):
    assert fault(child, load("fail")).log_tail == "the trace"
    assert child.ask(load("nothing"), say.Loaded, 20).notes == ("nothing done",)


def test_our_own_fault_is_called_ours(child):
    evidence = fault(child, say.AskMemory(), say.MemoryReply)
    assert (evidence.kind, evidence.stage) == (CrashKind.INFRASTRUCTURE, Stage.TIME)


def test_the_caller_names_the_stage(child):
    child.stage = Stage.STATE
    assert fault(child, load("fail")).stage is Stage.STATE
    child.stage = None
    assert fault(child, say.Run(slot=0), say.Done, 20).stage is Stage.VALUES


def test_an_answer_nobody_asked_for_breaks_the_format(child):
    child.ask(load("answer_twice"), say.Loaded, 20)
    time.sleep(0.3)
    evidence = fault(child, load("nothing"))
    assert evidence.kind is CrashKind.PROTOCOL
    assert "before it was asked" in evidence.detail


def test_words_and_control_characters(child):
    child.ask(load("speak:\x1b[2J and more"), say.Loaded, 20)
    evidence = fault(child, load("leave"))
    assert "some words" in child.log_tail()
    assert "some words" in evidence.log_tail
    assert "\x1b" not in evidence.log_tail + evidence.detail


def test_a_program_that_cannot_be_started_is_our_fault(tmp_path):
    with (
        make_wall(tmp_path, command=lambda *_: ["/no/such/program"]) as wall,
        wall.child(ChildRole.CANDIDATE) as child,
    ):
        evidence = fault(child, load("nothing"))
    assert evidence.kind is CrashKind.INFRASTRUCTURE
    assert "could not be started" in evidence.detail


@pytest.mark.parametrize("deed", ["daemon", "bare_daemon"])
def test_daemons_are_gone_after_close(wall, deed, tmp_path):
    text = f"{tmp_path.name}-{deed}"
    with wall.child(ChildRole.CANDIDATE) as child:
        child.ask(load(f"{deed}:{text}"), say.Loaded, 20)
        deadline = time.monotonic() + 10
        while not running(text) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert running(text)
    assert not running(text)


def running(text):
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if any(text in word for word in words) and "-c" in words:
            found.append(process.pid)
    return found


def test_nothing_is_left(wall):
    before = set(os.listdir("/proc/self/fd"))
    with wall.child(ChildRole.CANDIDATE) as child:
        child.ask(load("nothing"), say.Loaded, 20)
        process = child._process
        scratch, token, keeper = process.scratch, process.token, process._keeper.pid
        assert scratch.is_dir()
        assert marked(token)
    assert not scratch.exists()
    assert not marked(token)
    assert not descendants(keeper)
    assert not psutil.pid_exists(keeper)
    assert set(os.listdir("/proc/self/fd")) == before
    child.close()


def test_the_parents_end_ends_the_child(tmp_path):
    script = (
        "import sys, os, time\n"
        "from pathlib import Path\n"
        "from tests.unit.sandbox.walls import make_wall, load\n"
        "from strop.wire import messages as say\n"
        f"wall = make_wall(Path({str(tmp_path)!r}))\n"
        "with wall.child(say.ChildRole.CANDIDATE) as child:\n"
        f"    child.ask(load('daemon:{tmp_path.name}-end'), say.Loaded, 20)\n"
        "    sys.stdout.write(f'{child._process.token} {child._process.scratch}')\n"
        "    sys.stdout.flush()\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == -9, done.stderr
    token, scratch = done.stdout.split()
    deadline = time.monotonic() + 15
    while (marked(token) or Path(scratch).exists() or running(f"{tmp_path.name}-end")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not marked(token)
    assert not running(f"{tmp_path.name}-end")
    assert not Path(scratch).exists()


def test_a_process_whose_first_thread_ended_is_ended_too(child):
    child.ask(load("lose_first_thread"), say.Loaded, 20)
    token, keeper, own = child._process.token, child._process._keeper.pid, child._process.status.pid
    deadline = time.monotonic() + 20

    def half_gone():
        return [pid for pid in descendants(keeper) if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE]

    while not half_gone() and time.monotonic() < deadline:
        time.sleep(0.01)
    (pid,) = half_gone()
    assert pid != own
    child.close()
    assert not psutil.pid_exists(pid) and not marked(token)
