"""Every liar is caught by the check its head names, every honest kernel passes, every fault ends in one verdict.

Files whose head says `when: in turn` are judged every third day, a third of their workloads at a time, so that two
processors are done in minutes; all others always, and everything by `make gallery`.
"""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime

import psutil
import pytest

from strop.checks import SHELF
from tests.gallery.bench import open_bench
from tests.gallery.cards import cards
from tests.gallery.verdicts import BY_TIME, assert_caught, assert_passed, first_failure

LIARS, HONEST, FAULTS, GPU_FAULTS = cards("liars"), cards("honest"), cards("faults"), cards("gpu_faults")
IN_TURN = "in turn"
TURNS = 3
EVERYTHING = bool(os.environ.get("STROP_WHOLE_GALLERY"))
NOTHING_LEFT = "nothing left behind"


def named(card):
    return card.name


def turns(cards):
    """By workload its turn: what costs is to open one."""
    workloads = sorted({card["workload"] for card in cards if card.get("when") == IN_TURN})
    return {workload: place % TURNS for place, workload in enumerate(workloads)}


def of_today(cards):
    """All but those whose workload waits for its turn."""
    today, turn = datetime.now(UTC).toordinal() % TURNS, turns(LIARS + HONEST)
    return [card for card in cards if EVERYTHING or card.get("when") != IN_TURN or turn[card["workload"]] == today]


def by_workload(cards):
    """One parameter per card; cards of one workload go to one process, where its court is open."""
    return [pytest.param(card, id=card.name, marks=pytest.mark.xdist_group(card["workload"])) for card in cards]


@pytest.fixture(scope="module")
def bench():
    with open_bench() as opened:
        yield opened


@pytest.mark.parametrize("card", by_workload(of_today(LIARS)))
def test_a_liar_is_caught_by_the_check_that_its_head_names(bench, card):
    assert_caught(bench.judge(card.path, card.workload, timed=card.get("timed") == "yes"), card)


@pytest.mark.parametrize("card", by_workload(of_today(HONEST)))
def test_an_honest_kernel_passes(bench, card):
    assert_passed(bench.judge(card.path, card.workload, timed=card.get("timed") == "yes").verdict, card)


@pytest.mark.parametrize("card", by_workload(card for card in FAULTS if card["ends-as"] != NOTHING_LEFT))
def test_a_fault_ends_in_one_clear_verdict(bench, card):
    started = time.monotonic()
    verdict = bench.judge(card.path, card.workload).verdict
    assert verdict.outcome == "failed"
    failure = first_failure(verdict)
    assert failure.check == card["ends-as"], failure.because
    assert card["says"] in failure.because
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("card", by_workload(card for card in FAULTS if card["ends-as"] == NOTHING_LEFT))
def test_nothing_is_left_behind(bench, card):
    bench.judge(card.path, card.workload)
    deadline = time.monotonic() + 5
    while left := survivors(card["leaves"].split()):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def survivors(command):
    found = []
    for process in psutil.process_iter():
        try:
            if process.cmdline() == command and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("card", "code"),
    [(next(card for card in LIARS if card.name == "zeros"), 1), (HONEST[0], 0)],
    ids=["liar", "honest"],
)
def test_the_command_line_says_the_same(card, code):
    command = [sys.executable, "-m", "strop", "verify", str(card.workload), str(card.path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == code
    assert answer["verdict"] == ("failed" if code else "passed")
    assert answer["failed_check"] == (card["caught-by"] if code else None)


def test_the_galleries_are_as_large_as_promised():
    assert len(LIARS) >= 80
    assert len(HONEST) >= 30
    assert {card["caught-by"] for card in LIARS} <= {check.name for check in SHELF} | set(BY_TIME)
    assert {card.name for card in FAULTS} >= {
        "eats_memory",
        "exits_with_success",
        "fills_the_disk",
        "floods_stdout",
        "hangs",
        "segfaults",
    }
    assert {card.name for card in GPU_FAULTS} >= {
        "does_not_compile",
        "endless_kernel",
        "huge_grid",
        "illegal_address",
        "launch_failure",
        "missing_sync",
        "out_of_memory",
        "side_stream",
        "too_much_shared_memory",
        "wrong_device",
    }
    assert {card["ends-as"] for card in GPU_FAULTS} <= {check.name for check in SHELF}


@pytest.mark.parametrize("card", LIARS + HONEST + FAULTS + GPU_FAULTS, ids=named)
def test_a_head_says_what_a_reader_needs(card):
    wanted = {"story", "workload"}
    wanted |= {"kind", "seen"} if card in LIARS + FAULTS + GPU_FAULTS else {"rejected-by"}
    assert wanted <= set(card.fields)
    assert len(card["story"]) > 20
