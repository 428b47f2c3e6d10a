"""The whole program on a small workload, with real children: slow, and the last word on exit codes and JSON."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from strop.records.event import Decided, Proposed
from strop.storage.ledger import open_ledger

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[3]

WORK = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.pool = torch.nn.AvgPool1d(7, 1, 3)

    def forward(self, x):
        return self.pool(torch.relu(self.layer(x)))


def get_init_inputs():
    return [64]


def get_inputs():
    return [torch.randn(32, 64)]
"""
WRONG = {
    "sigmoid.py": ("torch.relu(", "torch.sigmoid(", "matches_reference"),
    "leaves.py": ("return self.pool", "import os; os._exit(0); return self.pool", "builds"),
}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "work.py").write_text(WORK)
    (tmp_path / "same.py").write_text(WORK.replace("class Model", "class ModelNew"))
    for name, (old, new, _) in WRONG.items():
        (tmp_path / name).write_text(WORK.replace("class Model", "class ModelNew").replace(old, new))
    return tmp_path


def command(*words):
    return [sys.executable, "-m", "strop", *words]


def environment(place):
    return {**os.environ, "PYTHONPATH": str(ROOT), "STROP_HOME": str(place / "home")}


def strop(place, *words):
    return subprocess.run(
        command(*words), cwd=place, env=environment(place), capture_output=True, text=True, check=False
    )


def test_the_referee_passes_the_same_and_fails_the_wrong(place):
    done = strop(place, "verify", "work.py", "same.py", "--json")
    value = json.loads(done.stdout)
    assert (done.returncode, value["verdict"], value["failed_check"]) == (0, "passed", None), done.stderr
    for name, (_, _, check) in WRONG.items():
        done = strop(place, "verify", "work.py", name, "--json")
        value = json.loads(done.stdout)
        assert (done.returncode, value["verdict"], value["failed_check"]) == (1, "failed", check), done.stderr


def test_a_workload_that_raises_is_the_users_to_mend(place):
    (place / "raises.py").write_text(WORK.replace("return self.pool", "raise ValueError('no such thing') or self.pool"))
    done = strop(place, "verify", "raises.py", "same.py", "--json")
    assert done.returncode == 2
    assert "no such thing" in json.loads(done.stdout)["error"]["message"]


def test_a_recipe_is_compared_in_fresh_processes(place):
    done = strop(place, "compare", "work.py", "avg_pool_as_conv", "--baseline", "eager", "--json")
    value = json.loads(done.stdout)
    assert (done.returncode, value["verdict"]) == (0, "passed"), done.stderr
    assert value["comparison"]["baseline"] == "eager"
    assert value["comparison"]["processes"] >= 3
    assert value["comparison"]["low"] <= value["comparison"]["speedup"] <= value["comparison"]["high"]


def test_a_profile_names_kernels_and_proposals(place):
    done = strop(place, "profile", "work.py", "--baseline", "default", "--json")
    value = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert value["kernels"]
    assert any(each["step"].startswith("avg_pool_as_conv") for each in value["proposals"])


def wait_for(ledger, kind, process, timeout_s=400.0):
    """Return when the newest run holds an event of this kind."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until and process.poll() is None:
        if ledger.is_file():
            with open_ledger(ledger) as book:
                if any(isinstance(event.what, kind) for run in book.runs()[:1] for event in book.events(run)):
                    return
        time.sleep(0.5)
    pytest.fail(f"no {kind.__name__} in time")


OPTIMIZE = ("optimize", "work.py", "--baseline", "default", "--budget", "10m", "--forbid", "emulated", "--json")


def begin(place):
    return subprocess.Popen(
        command(*OPTIMIZE),
        cwd=place,
        env=environment(place),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_with_the_best_so_far_and_130(place, number):
    with begin(place) as process:
        wait_for(place / "home" / "ledger.sqlite", Proposed, process)
        process.send_signal(number)
        out, _ = process.communicate(timeout=120)
    value = json.loads(out)
    assert (process.returncode, value["interrupted"], value["stopped"]) == (130, True, "interrupted")


def test_after_kill_9_a_resumed_run_judges_nothing_twice(place):
    ledger = place / "home" / "ledger.sqlite"
    with begin(place) as process:
        wait_for(ledger, Decided, process)
        process.kill()
    with open_ledger(ledger) as book:
        (run,) = book.runs()
        before = [event.what.decision.candidate.id for event in book.events(run) if isinstance(event.what, Decided)]
    done = strop(place, "optimize", "--resume", run, "--budget", "1s", "--json")
    assert json.loads(done.stdout)["run"] == run, done.stderr
    assert done.returncode == 0
    with open_ledger(ledger) as book:
        decided = [event.what for event in book.events(run) if isinstance(event.what, Decided) and not event.what.final]
    ids = [each.decision.candidate.id for each in decided]
    assert ids[: len(before)] == before
    assert len(ids) == len(set(ids))


def test_python_gives_a_drop_in(place):
    script = """
    import json, torch, strop
    from work import Model
    model = Model(64).eval()
    x = torch.randn(32, 64)
    same = strop.verify(model, Model(64).eval(), x)
    done = strop.optimize(model, x, budget="60s", baselines=["eager"])
    with torch.no_grad():
        close = torch.allclose(done.module(x), model(x), atol=1e-5)
        other = torch.allclose(done.module(x[:3]), model(x[:3]), atol=1e-5)
    again = strop.load(done.result.run, model, x)
    print(json.dumps({"close": close, "other": other, "verdict": same.verdict.outcome, "misses": done.module.misses,
                      "faster": done.faster, "again": again.faster, "json": done.json()["run"] == done.result.run}))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=place,
        env={**environment(place), "PYTHONPATH": f"{ROOT}:{place}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert (value["close"], value["other"], value["json"]) == (True, True, True)
    assert value["verdict"] == "passed"
    assert value["again"] == value["faster"]
    assert value["misses"] == (1 if value["faster"] else 2)
