"""Kills, crowds and cut-offs: what was written stays written."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from strop.records.event import Noted
from strop.storage.ledger import open_ledger

ROOT = Path(__file__).parents[3]


def writer(store, run, count):
    command = [sys.executable, "-m", "tests.unit.storage.writer", str(store), run, str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("acknowledged", [1, 7, 40])
def test_kill_loses_at_most_the_event_in_flight(tmp_path, acknowledged):
    process = writer(tmp_path, "r-1", 100_000)
    for _ in range(acknowledged):
        last = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    # What it still printed before the signal arrived was durable too.
    more = process.stdout.read().split()
    process.wait()
    last = int(more[-1]) if more else last
    with open_ledger(tmp_path) as ledger:
        events = list(ledger.events("r-1"))
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert last <= len(events) <= last + 1
        assert all(event.what.text.startswith(f"r-1 {event.sequence} ") for event in events)
        assert ledger.append("r-1", Noted(text="goes on")).sequence == len(events) + 1


def test_several_processes_make_and_fill_one_ledger(tmp_path):
    runs = ["r-1", "r-2", "r-3"]
    processes = [writer(tmp_path, run, 30) for run in runs]
    for process in processes:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        assert out.split() == [str(number) for number in range(1, 31)]
    with open_ledger(tmp_path) as ledger:
        assert sorted(ledger.runs()) == runs
        for run in runs:
            assert [event.what.text.split()[:2] for event in ledger.events(run)] == [
                [run, str(number)] for number in range(1, 31)
            ]


def test_two_processes_on_one_run_never_share_a_number(tmp_path):
    processes = [writer(tmp_path, "r-1", 30) for _ in range(2)]
    numbers = []
    for process in processes:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        numbers += out.split()
    assert sorted(map(int, numbers)) == list(range(1, 61))


def test_readers_do_not_wait_for_a_writer(tmp_path):
    with open_ledger(tmp_path) as ledger, open_ledger(tmp_path) as other:
        ledger.append("r-1", Noted(text="one"))
        with ledger.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout = 0")
            other.append("r-1", Noted(text="two"))
            assert len(list(ledger.events("r-1"))) == 2
