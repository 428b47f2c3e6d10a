"""Children that are forked of a nursery: as if they had been started, only sooner, and nothing is left of them."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from strop.errors import ChildFault
from strop.records.contract import CONTRACTS
from strop.records.evidence import CrashKind
from strop.records.workload import SourceKind, Workload, WorkloadSource
from strop.sandbox import nursery as nursery_module
from strop.sandbox.isolation import Grade, why_not
from strop.sandbox.processes import descendants, marked
from strop.sandbox.wall import LocalWall
from strop.settings import Settings
from strop.wire import messages as say
from strop.wire.messages import ChildRole

WORKLOAD = Path(__file__).parents[2] / "gallery" / "workloads" / "relu.py"
WORKER = "sys.modules.get('strop.worker.__main__', sys.modules['__main__'])"
GRADES = [grade for grade in Grade if not why_not(grade)]


def run_in(child, folder, *texts):
    """Have the child load one workload after the other, whose code ends with these texts."""
    for text in texts:
        child.ask(opening(folder, text), say.Done, 60)


def opening(folder, text):
    code = f"{WORKLOAD.read_text()}\n{text}\n"
    file = folder / f"w{len(list(folder.iterdir()))}.py"
    file.write_text(code)
    digest = hashlib.sha256(code.encode()).hexdigest()
    source = WorkloadSource(kind=SourceKind.FILE, where=str(file), digest=digest)
    workload = Workload(name="w", source=source)
    return say.Open(workload=workload, contract=CONTRACTS["fp32"], threads=1, construct_seed=1)


def wall_of(folder, *, forks, grade=Grade.C, extra=None):
    return LocalWall(
        Settings(home=folder / "home"), threads=1, ahead={}, extra=extra or {}, isolation=grade, forks=forks
    )


@pytest.fixture(name="nursed", scope="module")
def _nursed(tmp_path_factory):
    with wall_of(tmp_path_factory.mktemp("nursed"), forks=True, extra={"CC": "cc-of-this-test"}) as wall:
        yield wall


def nursery_of(wall):
    return wall._setup.nursery


def told(child, folder, text):
    """What a workload's code prints when it is loaded."""
    run_in(child, folder, text)
    deadline = time.monotonic() + 5
    while not child.log_tail().endswith("<end>\n") and time.monotonic() < deadline:
        time.sleep(0.01)
    return child.log_tail().removesuffix("<end>\n")


LOOK = """
import os, signal, sys, tempfile, threading, random
scratch = os.environ["HOME"]
for key, value in sorted(os.environ.items()):
    print(key, value.replace(scratch, "SCRATCH") if key != "STROP_CHILD" else len(value))
print(sorted(int(each) for each in os.listdir("/proc/self/fd"))[:3], len(os.listdir("/proc/self/fd")))
print(os.getcwd() == scratch, tempfile.gettempdir() == os.environ["TMPDIR"], sys.argv[1:2] != [], sys.flags.safe_path)
print(threading.active_count(), os.getsid(0) == os.getpid())
print([signal.getsignal(each).__class__.__name__ for each in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGTERM)])
print("<end>", flush=True)
"""


def test_a_forked_child_sees_what_a_started_one_sees(nursed, tmp_path):
    with wall_of(tmp_path, forks=False, extra={"CC": "cc-of-this-test"}) as started:
        seen = []
        for wall in (nursed, started):
            with wall.child(ChildRole.CANDIDATE) as child:
                seen.append(told(child, tmp_path, LOOK))
    assert "CC cc-of-this-test" in seen[0] and "strop-nursery" not in seen[0]
    assert seen[0] == seen[1]


KEPT = """
import os, torch, torch._inductor.codecache as codecache
from torch._inductor.runtime.cache_dir_utils import cache_dir
torch.compile(lambda x: torch.relu(x) + 1)(torch.ones(3))
print(codecache._HEADER_DIR.startswith(os.environ["TMPDIR"]), cache_dir().startswith(os.environ["HOME"]), "<end>")
"""


def test_what_a_compiler_keeps_lies_with_the_child(tmp_path):
    with LocalWall(Settings(home=tmp_path / "home"), ahead={ChildRole.RECIPE: 1}, forks=True) as wall:
        wall.prepare()
        # Until it has imported what it imports ahead.
        with wall.device_lock("none", still=True):
            pass
        with wall.child(ChildRole.CANDIDATE) as child:
            run_in(child, tmp_path, KEPT)
            # Before that, torch may regret that there is a CUDA toolkit and no device.
            assert child.log_tail().split()[-3:] == ["True", "True", "<end>"]


def test_each_child_carries_its_own_token(nursed, tmp_path):
    with nursed.child(ChildRole.CANDIDATE) as one, nursed.child(ChildRole.CANDIDATE) as other:
        for child in (one, other):
            run_in(child, tmp_path, "")
            assert marked(child._process.token) == {child._process.status.pid}


@pytest.mark.parametrize("grade", GRADES)
def test_it_is_confined_and_ended_like_any_other(tmp_path, grade):
    with wall_of(tmp_path, forks=True, grade=grade) as wall:
        with wall.child(ChildRole.CANDIDATE) as child:
            text = "import os\nif os.fork() == 0:\n    os.setsid()\n    while True:\n        pass"
            run_in(child, tmp_path, text)
            token, keeper, scratch = child._process.token, child._process._keeper.pid, child._process.scratch
            assert len(descendants(keeper)) >= 2
        assert not marked(token) and not scratch.exists()
        assert not Path(f"/proc/{keeper}").exists()


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("import os; os._exit(7)", CrashKind.EXITED, "status 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", CrashKind.SIGNAL, "SIGSEGV"),
        (f"import sys\n{WORKER}.handle = None", CrashKind.EXITED, "status 1"),
    ],
)
def test_its_end_is_told(nursed, tmp_path, text, kind, words):
    with nursed.child(ChildRole.CANDIDATE) as child:
        with pytest.raises(ChildFault, match=words) as caught:
            run_in(child, tmp_path, text, "")
        assert caught.value.evidence.kind is kind


def test_a_killed_keeper_takes_its_child_with_it(nursed, tmp_path):
    with nursed.child(ChildRole.CANDIDATE) as child:
        run_in(child, tmp_path, "")
        os.kill(child._process._keeper.pid, signal.SIGKILL)
        while marked(child._process.token):
            time.sleep(0.01)
        with pytest.raises(ChildFault, match="keeper was killed"):
            run_in(child, tmp_path, "")


def test_children_can_be_asked_for_by_several_at_once(nursed, tmp_path):
    tokens = []

    def have_one():
        with nursed.child(ChildRole.CANDIDATE) as child:
            run_in(child, tmp_path, "")
            tokens.append(child._process.token)

    threads = [threading.Thread(target=have_one) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(tokens)) == 5


def test_where_the_nursery_died_children_are_started(tmp_path):
    with wall_of(tmp_path, forks=True) as wall:
        with wall.child(ChildRole.CANDIDATE) as before:
            run_in(before, tmp_path, "")
            os.kill(nursery_of(wall).pid, signal.SIGKILL)
            with wall.child(ChildRole.CANDIDATE) as after:
                run_in(after, tmp_path, "")
                assert after._process._keeper.pid in {each for each in descendants(os.getpid())}
            run_in(before, tmp_path, "")
        assert not marked(before._process.token)


def test_one_that_does_not_answer_is_ended_and_forks_nothing_later(tmp_path, monkeypatch):
    monkeypatch.setattr(nursery_module, "ANSWER_S", 0.2)
    with wall_of(tmp_path, forks=True) as wall:
        nursery_of(wall).start()
        os.kill(nursery_of(wall).pid, signal.SIGSTOP)
        with wall.child(ChildRole.CANDIDATE) as child:
            run_in(child, tmp_path, "")
            assert psutil.Process(nursery_of(wall).pid).status() == psutil.STATUS_ZOMBIE
            assert len(marked(child._process.token)) == 1


def test_closing_leaves_nothing(tmp_path):
    wall = wall_of(tmp_path, forks=True)
    nursery = nursery_of(wall)
    nursery.start()
    nursery.start()
    pid, folder = nursery.pid, nursery.folder
    assert folder.exists() and Path(f"/proc/{pid}").exists()
    wall.close()
    wall.close()
    assert not folder.exists() and not Path(f"/proc/{pid}").exists()
    with wall.child(ChildRole.CANDIDATE) as child:
        run_in(child, tmp_path, "")


OF_ONE_THAT_IS_KILLED = """
import os, signal, sys, time
from pathlib import Path
from strop.sandbox.wall import LocalWall
from strop.settings import Settings

wall = LocalWall(Settings(home=Path(sys.argv[1])), threads=1, ahead={}, forks=True)
wall._setup.nursery.start()
print(wall._setup.nursery.folder, wall._setup.nursery.pid, flush=True)
time.sleep(60)
"""


def test_a_nursery_ends_with_its_parent_and_leaves_no_folder(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", OF_ONE_THAT_IS_KILLED, str(tmp_path)], stdout=subprocess.PIPE)
    folder, pid = parent.stdout.readline().decode().split()
    assert Path(folder).exists()
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 30
    while (Path(folder).exists() or psutil.pid_exists(int(pid))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists() and not psutil.pid_exists(int(pid))
