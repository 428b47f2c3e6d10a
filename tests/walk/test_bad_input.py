"""Bad input, end to end: one message that says who must do what, and the right exit code.

Names, options and ledgers that are refused without starting a process have their tests beside the command line, the
sources and the storage; here a child has to find out, or the machine refuses.
"""

import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from strop.records.event import Admitted, RunEnded
from strop.storage.ledger import open_ledger
from tests.walk.commands import ROOT, searched

pytestmark = pytest.mark.timeout(600)

WORK = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.layer(x))


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 8)]
"""
TANH = WORK.replace("self.layer = torch.nn.Linear(8, 8)", "").replace("torch.relu(self.layer(x))", "torch.tanh(x)")


def changed(old, new, text=WORK):
    assert old in text
    return text.replace(old, new)


WORKLOADS = {
    "a name is missing": (
        changed("def get_inputs", "def get_imputs"),
        ["does not define get_inputs", "add: def get_inputs(): return [torch"],
    ),
    "raises when imported": (
        changed("import torch", "import torch, no_such_module_anywhere"),
        ["Importing work.py raised ModuleNotFoundError", "Run it with Python alone and mend it there"],
    ),
    "raises when built": (
        changed("return []", "return [3]"),
        ["Building Model raised TypeError", "Check get_init_inputs() against its __init__()"],
    ),
    "raises when called": (
        changed("return torch.relu", "raise ValueError('not today')\n        return torch.relu"),
        ["The model's forward() raised ValueError: not today", "Make the inputs what forward() takes"],
    ),
    "inputs of another shape": (
        changed("torch.randn(4, 8)", "torch.randn(4, 9)"),
        ["mat1 and mat2 shapes cannot be multiplied (4x9 and 8x8)", "Make the inputs what forward() takes"],
    ),
    "more inputs than it takes": (
        changed("[torch.randn(4, 8)]", "[torch.randn(4, 8), 3]"),
        ["takes 2 positional arguments but 3 were given", "Make the inputs what forward() takes"],
    ),
    "parameters on another device": (
        changed("torch.nn.Linear(8, 8)", "torch.nn.Linear(8, 8, device='meta')"),
        ["The module's parameters are on meta, the workload runs on cpu: move it there"],
    ),
    "inputs on another device": (
        changed("torch.randn(4, 8)", "torch.randn(4, 8, device='meta')"),
        ["args[0] is on meta, the workload runs on cpu: make it there"],
    ),
    "makes NaN": (
        changed("torch.relu(", "torch.log(-1 - torch.relu(").replace("self.layer(x))", "self.layer(x)))"),
        ["The model makes NaN from its own inputs (in out): mend the model"],
    ),
    "asks for more memory than there is": (
        changed("return torch.relu(self.layer(x))", "return torch.relu(self.layer(x)) + torch.zeros(1 << 46)[0]"),
        ["It needs more memory than it may have: use smaller shapes"],
    ),
}


ALSO_TESTED_WITHOUT_A_PROCESS = (
    "a name is missing",
    "raises when imported",
    "raises when built",
    "inputs of another shape",
    "more inputs than it takes",
    "parameters on another device",
    "inputs on another device",
    "makes NaN",
    "asks for more memory than there is",
    "too much memory",
)
"""Beside the sources and in the worker. Whole processes are dear: these run with the slow tests alone."""


def rows(table):
    slow = {name: [pytest.mark.slow] for name in ALSO_TESTED_WITHOUT_A_PROCESS}
    return [pytest.param(*row, id=name, marks=slow.get(name, ())) for name, row in table.items()]


@pytest.mark.parametrize(("text", "says"), rows(WORKLOADS))
def test_a_bad_workload_is_code_2(place, text, says):
    place.write("work.py", text)
    place.write("new.py", WORK)
    done = place.strop("verify", "work.py", "new.py", "--json")
    assert done.code == 2, done.out
    error = done.json["error"]
    assert error["exit_code"] == 2
    assert error["kind"] == "BadWorkload"
    for part in says:
        assert part in error["message"]
    assert f"strop: {error['message']}" in done.err
    assert "Traceback" not in done.err


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="this machine has the device")
def test_a_device_that_this_machine_lacks(place):
    place.write("work.py", changed("torch.randn(4, 8)", "torch.randn(4, 8, device='cuda')"))
    done = place.strop("profile", "work.py", "--json")
    assert done.code == 2
    assert "get_inputs() of work.py raised" in done.json["error"]["message"]
    assert "This machine has no such device: make everything on the device" in done.json["error"]["message"]


CANDIDATES = {
    "another shape": (
        changed("return torch.relu(self.layer(x))", "return torch.relu(self.layer(x))[:1]"),
        "keeps_interface",
        "out: shape is (1, 8); the workload returns (4, 8)",
    ),
    "too much memory": (
        changed("return torch.relu(self.layer(x))", "return torch.relu(self.layer(x)) + torch.zeros(1 << 46)[0]"),
        "builds",
        "It needs more memory than it may have: use smaller shapes",
    ),
}


@pytest.mark.parametrize(("text", "check", "says"), rows(CANDIDATES))
def test_a_bad_candidate_is_code_1(place, text, check, says):
    place.write("work.py", WORK)
    place.write("new.py", text.replace("class Model(", "class ModelNew("))
    done = place.strop("verify", "work.py", "new.py", "--json")
    assert (done.code, done.json["verdict"], done.json["failed_check"]) == (1, "failed", check), done.err
    assert says in done.json["because"]


RANDOM = changed("return torch.relu", "return torch.nn.functional.dropout(torch.relu").replace(
    "self.layer(x))", "self.layer(x)), training=self.training)"
)


@pytest.mark.parametrize("command", ["verify", "optimize"])
def test_one_random_number_is_too_little_and_is_code_3_before_anything_is_built(place, command):
    place.write("work.py", RANDOM.replace("training=self.training)", "training=self.training).mean()"))
    words = ["channels_last"] if command == "verify" else []
    done = place.strop(command, "work.py", *words, "--json")
    assert done.code == 3, done.out + done.err
    because = done.json["because"]
    assert "would pass" in because and "--mode eval" in because
    if command == "optimize":
        assert done.json["stopped"] == "inconclusive" and done.json["baselines_ns"] == {}
    else:
        assert not place.ledger.exists()


@pytest.mark.slow
def test_random_numbers_in_plenty_are_judged_by_their_distribution(place):
    place.write("work.py", RANDOM)
    place.write("new.py", RANDOM.replace("class Model(", "class ModelNew("))
    done = place.strop("verify", "work.py", "new.py", "--json")
    assert (done.code, done.json["verdict"]) == (0, "passed"), done.out + done.err
    assert done.json["scope"]["by_distribution"] is True
    place.write(
        "new.py", RANDOM.replace("class Model(", "class ModelNew(").replace("training=self.training", "training=False")
    )
    done = place.strop("verify", "work.py", "new.py", "--json")
    assert (done.code, done.json["failed_check"]) == (1, "matches_reference"), done.out + done.err


@pytest.mark.slow
def test_the_same_workload_is_judged_in_eval_mode(place):
    place.write("work.py", RANDOM)
    place.write("new.py", RANDOM.replace("class Model(", "class ModelNew("))
    done = place.strop("verify", "work.py", "new.py", "--mode", "eval", "--json")
    assert (done.code, done.json["verdict"], done.json["mode"]) == (0, "passed", "eval"), done.out + done.err


SMALL_MACHINE = """
import sys
from strop.sandbox import limits
limits.machine_memory_bytes = lambda: {bytes}
from strop.cli.main import run
run()
"""
EATS = "blocks = [torch.ones(1 << 26) for _ in range(16)]\n        return torch.relu"


def on_a_small_machine(place, *words):
    """The same command where children may hold 0.6 of 2 GiB; 16 blocks are 4 GiB."""
    place.tmp.mkdir(exist_ok=True)
    more = {"STROP_HOME": str(place.home), "TMPDIR": str(place.tmp), "PYTHONPATH": searched(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", SMALL_MACHINE.format(bytes=2 << 30), *words],
        cwd=place.folder,
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_workload_over_the_memory_limit_is_code_3(place):
    place.write("work.py", changed("return torch.relu", EATS))
    done = on_a_small_machine(place, "verify", "work.py", "channels_last")
    assert done.returncode == 3, done.stderr
    assert "The workload could not be loaded: The reference's process" in done.stderr
    assert "Make the workload smaller, or run on a machine with more memory" in done.stderr
    assert place.left_behind() == []


@pytest.mark.slow
def test_a_candidate_over_the_memory_limit_is_code_1(place):
    place.write("work.py", WORK)
    place.write("new.py", changed("return torch.relu", EATS).replace("class Model(", "class ModelNew("))
    done = on_a_small_machine(place, "verify", "work.py", "new.py")
    assert done.returncode == 1, done.stderr
    assert "memory" in done.stdout
    assert place.left_behind() == []


def test_a_ledger_of_a_newer_schema_is_code_2_and_left_alone(place):
    place.write("work.py", WORK)
    open_ledger(place.ledger).close()
    with sqlite3.connect(place.ledger) as raw:
        raw.execute("PRAGMA journal_mode = DELETE")
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.close()
    before = place.ledger.read_bytes()
    # What only judges has no business with a ledger, so none can stand in its way.
    assert "There is no file" in place.strop("verify", "work.py", "gone.py").err
    for words in (("optimize", "work.py"), ("show",)):
        done = place.strop(*words, "--json")
        assert done.code == 2
        assert "newer Strop" in done.json["error"]["message"]
        assert "Upgrade strop" in done.json["error"]["message"]
    assert place.ledger.read_bytes() == before


@pytest.mark.parametrize("home", ["work.py/home", "/sys/strop"])
def test_a_home_that_cannot_be_written_is_code_2(place, home):
    place.write("work.py", WORK)
    where = home if home.startswith("/") else str(place.folder / home)
    done = place.strop("optimize", "work.py", "--json", environment={"STROP_HOME": where})
    assert done.code == 2, done.err
    message = done.json["error"]["message"]
    assert where in message
    assert "--store" in message or "STROP_HOME" in message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not write")
def test_a_ledger_that_belongs_to_somebody_else_is_code_2(place):
    """Run without root's right to write anywhere: a read-only ledger, and a folder in which none can be made."""
    place.write("work.py", WORK)
    closed = place.folder / "closed"
    closed.mkdir()
    open_ledger(closed).close()
    for each in (closed, *closed.iterdir()):
        os.chown(each, 65534, 65534)
        each.chmod(0o555 if each.is_dir() else 0o444)
    command = [sys.executable, "-m", "strop", "optimize", "work.py", "--store"]
    for store in (str(closed), str(closed / "deeper")):
        done = subprocess.run(
            ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", *command, store],
            cwd=place.folder,
            env=os.environ | {"STROP_HOME": str(place.home), "PYTHONPATH": searched(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, done.stderr
        assert "write permission" in done.stderr


def tmpfs(size, folder, *words):
    """Run a command with a small file system over ``folder``, and keep a copy of what it left there."""
    script = 'mount -t tmpfs -o size="$0" none "$1" && shift && { "$@"; code=$?; cp -r "$FULL" "$KEPT"; exit $code; }'
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    return [*namespace, "sh", "-c", script, size, str(folder), *words]


def may_mount(tmp_path):
    folder = tmp_path / "probe"
    folder.mkdir()
    more = {"FULL": str(folder), "KEPT": str(tmp_path / "probed")}
    try:
        return subprocess.run(tmpfs("64k", folder, "true"), env=os.environ | more, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("size", "gets_to"), [("16k", 0), ("120k", 2)])
def test_a_full_disk_is_code_2_and_loses_nothing(place, tmp_path, size, gets_to):
    if not may_mount(tmp_path):
        pytest.skip("no file system of a chosen size may be mounted here")
    place.write("work.py", TANH)
    full, kept = place.folder / "full", place.folder / "kept"
    full.mkdir()
    command = (sys.executable, "-m", "strop", "optimize", "work.py", "--store", str(full))
    words = ("--baseline", "eager", "--budget", "1s")
    more = {"STROP_HOME": str(place.home), "PYTHONPATH": searched(ROOT), "FULL": str(full), "KEPT": str(kept)}
    done = subprocess.run(
        tmpfs(size, full, *command, *words),
        cwd=place.folder,
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "The disk that holds" in done.stderr and "Free some space there" in done.stderr
    assert "--resume goes on" in done.stderr
    if not gets_to:
        return
    shutil.copytree(kept, place.folder / "store")
    with open_ledger(place.folder / "store") as book:
        (run,) = book.runs()
        happened = [event.what for event in book.events(run)]
    assert len(happened) >= gets_to
    assert not any(isinstance(each, RunEnded) for each in happened)
    assert any(isinstance(each, Admitted) for each in happened)
