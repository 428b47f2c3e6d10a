"""Killed, interrupted, taken up again: the ledger decides, and nothing that was judged is judged again."""

import json
import signal
from collections import Counter

import pytest

from strop.records.decision import Keep
from strop.records.event import Decided, Described, Judged, Proposed, RunEnded, RunStarted
from strop.storage.ledger import open_ledger
from strop.supervisor.state import RunState
from tests.walk.commands import TINY

pytestmark = pytest.mark.timeout(900)

OPTIMIZE = ("optimize", "work.py", "--json", "--budget", "20m", "--baseline")
NOTHING_IS_GOOD_ENOUGH = ("--max-error-ratio", "1e-9")
"""Every candidate is judged and timed, none is kept, so that no confirmation follows."""

LONG_CHAIN = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        for step in range(24):
            x = torch.relu(x * 1.01 + 0.1 * step) - 0.05
        return x


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(512, 512)]
"""
"""Eager goes through memory a hundred times, the compiler once: whatever is compiled is kept."""


def decisions(events):
    return [(each.decision.candidate.id, each.final) for each in events if isinstance(each, Decided)]


def judgements(events):
    """Candidate and whether it was a confirmation, for every verdict: a verdict is followed by its decision."""
    follow = iter(each for each in events if isinstance(each, Judged | Decided))
    found = []
    for each in follow:
        if isinstance(each, Judged):
            decided = next(follow)
            assert isinstance(decided, Decided)
            assert decided.decision.candidate.id == each.verdict.candidate_id
            found.append((each.verdict.candidate_id, decided.final))
    return found


def twice(pairs):
    return [pair for pair, count in Counter(pairs).items() if count > 1]


def wall_seconds(place):
    """What the run has cost up to its last event."""
    state = RunState()
    with open_ledger(place.ledger) as book:
        for event in book.events(book.runs()[0]):
            state.hear(event)
    return state.run, state.wall_seconds_s


def kill_at(place, words, count, kind):
    """Start, wait for the ledger to hold ``count`` events of a kind, kill; what the ledger holds then."""
    process = place.start(*words)
    place.wait_for(process, count, kind)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert place.left_behind() == []
    return place.events()


def go_on(place, run, budget_s, *more):
    done = place.strop("optimize", "--resume", run, "--budget", f"{budget_s:.0f}s", "--json", *more)
    assert done.code == 0, done.err
    assert place.left_behind() == []
    return done.json


def test_kill_9_then_ctrl_c_then_to_the_end(place):
    place.write("work.py", TINY)
    before = kill_at(place, (*OPTIMIZE, "eager", *NOTHING_IS_GOOD_ENOUGH), 1, Decided)
    run, _ = wall_seconds(place)

    process = place.start("optimize", "--resume", run, "--json")
    place.wait_for(process, sum(isinstance(each, Proposed) for each in before) + 1, Proposed)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    value = json.loads(out)
    assert process.returncode == 130, err
    assert (value["run"], value["interrupted"], value["stopped"]) == (run, True, "interrupted")
    assert place.left_behind() == []
    interrupted = place.events()
    assert isinstance(interrupted[-1], RunEnded) and interrupted[-1].interrupted
    assert decisions(interrupted)[: len(decisions(before))] == decisions(before)

    _, spent_s = wall_seconds(place)
    value = go_on(place, run, spent_s + 15)
    events = place.events()
    assert events[: len(interrupted)] == interrupted
    assert len(judgements(events)) > len(judgements(interrupted))
    assert twice(judgements(events)) == []
    assert twice(decisions(events)) == []
    assert [each.resumed for each in events if isinstance(each, RunStarted)] == [False, True, True]
    assert value["run"] == run
    assert value["kept"] is None and value["interrupted"] is False
    assert value["proposed"] == len({each.candidate.id for each in events if isinstance(each, Proposed)})
    assert value["wall_seconds"] >= spent_s
    assert value == told(place, run, value)


def told(place, run, like):
    """The same run as `strop show` tells it, reduced to the keys of the first telling."""
    value = place.strop("show", run, "--json").json
    return {key: value[key] for key in like}


@pytest.mark.slow
def test_kill_9_while_confirming(place):
    """What was kept at the screening is confirmed once, and the result holds the confirmation's figures."""
    place.write("work.py", LONG_CHAIN)
    words = ("optimize", "work.py", "--baseline", "eager", "--budget", "1s", "--json")
    screened = kill_at(place, words, 1, Decided)
    assert isinstance(next(each for each in screened if isinstance(each, Decided)).decision, Keep)
    run, _ = wall_seconds(place)
    value = go_on(place, run, 1)
    events = place.events()
    assert decisions(events)[: len(decisions(screened))] == decisions(screened)
    assert twice(judgements(events)) == []
    confirmed = [each.decision for each in events if isinstance(each, Decided) and each.final]
    assert value["kept"]["confirmed"] is True
    assert (value["kept"]["candidate_id"], value["kept"]["speedup"]) in [
        (each.candidate.id, each.comparison.speedup) for each in confirmed if isinstance(each, Keep)
    ]
    # Asked once more, nothing is left to do and nothing is changed.
    assert go_on(place, run, 1) == value
    assert place.events() == events


FACTORY = """
import torch
from helper import Net


def make():
    return Net(), (torch.randn(32, 64),)
"""
HELPER = """
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2
"""


def test_code_that_changed_behind_a_factory_is_noticed(place):
    place.write("nets.py", FACTORY)
    place.write("helper.py", HELPER)
    process = place.start("optimize", "nets:make", "--baseline", "eager", "--json")
    place.wait_for(process, 1, Described)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    run, _ = wall_seconds(place)
    before = place.events()
    place.write("helper.py", HELPER.replace("* 2", "* 3"))
    done = place.strop("optimize", "--resume", run, "--json")
    assert done.code == 2, done.out + done.err
    message = done.json["error"]["message"]
    assert "has changed since run" in message and "(in helper)" in message
    assert "Start a new run: strop optimize nets:make" in message
    assert place.events() == before
    assert place.left_behind() == []


@pytest.mark.slow
def test_sigterm_ends_like_ctrl_c(place):
    place.write("work.py", TINY)
    process = place.start(*OPTIMIZE, "eager")
    place.wait_for(process, 1, Proposed)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert json.loads(out)["interrupted"] is True
    assert place.left_behind() == []
