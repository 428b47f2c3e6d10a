"""Real processes, a real ledger, real signals: kill -9 and Ctrl-C in the middle of a run, then the run goes on."""

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from strop.records.event import Decided
from strop.storage.ledger import open_ledger
from strop.supervisor.result import summarise

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0


def sitting(folder, pause_s):
    command = [sys.executable, "-m", "tests.unit.supervisor.sitting"]
    arguments = [str(folder / "store"), "r-1", str(folder / "diary"), str(pause_s)]
    return subprocess.Popen([*command, *arguments], cwd=ROOT, stderr=subprocess.PIPE, text=True)


def lines(folder):
    diary = folder / "diary"
    return diary.read_text().splitlines() if diary.exists() else []


def wait_for(folder, count, process):
    until = time.monotonic() + PATIENCE_S
    while len(lines(folder)) < count:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.002)


def told(folder):
    with open_ledger(folder / "store", create=False) as ledger:
        events = list(ledger.events("r-1"))
    decisions = [(event.what.final, event.what.decision) for event in events if isinstance(event.what, Decided)]
    return decisions, summarise(events)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    process = sitting(folder, 0.0)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    return told(folder)


def test_kill_and_resume_come_to_the_same_decisions(tmp_path, undisturbed):
    """Killed twice, at the third and at the seventh judgement, then left to finish."""
    in_flight = set()
    for count in (3, 7):
        process = sitting(tmp_path, 0.03)
        wait_for(tmp_path, count, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        in_flight.add(lines(tmp_path)[-1])
    process = sitting(tmp_path, 0.0)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    decisions, result = told(tmp_path)
    assert decisions == undisturbed[0]
    assert result.kept == undisturbed[1].kept
    assert (result.kept.confirmed, result.proposed) == (True, undisturbed[1].proposed)
    # Only what was in work when a signal came was begun again.
    assert {line for line, count in Counter(lines(tmp_path)).items() if count > 1} <= in_flight


@pytest.mark.parametrize("count", [1, 4, 8])
def test_interrupt_ends_with_the_best_so_far(tmp_path, undisturbed, count):
    process = sitting(tmp_path, 0.03)
    wait_for(tmp_path, count, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    decisions, result = told(tmp_path)
    assert decisions == undisturbed[0][: len(decisions)]
    assert result.interrupted
    assert (result.kept is None) == (count == 1)
    process = sitting(tmp_path, 0.0)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert told(tmp_path)[0] == undisturbed[0]
