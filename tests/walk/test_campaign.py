"""``strop bench`` as a user meets it: interrupted, taken up again, its file whole at every moment."""

import json
import signal
import time

import pytest

from strop.records.event import Decided, Described, RunEnded, RunStarted
from strop.storage.ledger import open_ledger
from tests.walk.commands import ROOT, TINY

pytestmark = pytest.mark.timeout(900)

TRIVIAL = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return (x * 0.0).relu()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(32, 64)]
"""
BENCH = ("bench", "suite", "--budget", "1s", "--baseline", "eager", "--out", "out.json", "--json")


def everything(place):
    with open_ledger(place.ledger) as book:
        return [event for run in book.runs() for event in book.events(run)]


def counted(place, kind):
    return sum(isinstance(event.what, kind) for event in everything(place))


@pytest.mark.slow
def test_a_campaign_is_interrupted_and_goes_on(place):
    (place.folder / "suite").mkdir()
    place.write("suite/a_trivial.py", TRIVIAL)
    place.write("suite/b_work.py", TINY)
    place.write("suite/c_broken.py", "class Model: ...\n")

    process = place.start(*BENCH)
    place.wait_for(process, 1, RunEnded)
    # Only the newest run is looked at: wait until that is the second one.
    while counted(place, RunStarted) < 2:
        assert process.poll() is None
        time.sleep(0.2)
    place.wait_for(process, 1, Described)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    value = json.loads(out)
    assert value == json.loads((place.folder / "out.json").read_text())
    assert [row["status"] for row in value["rows"]] == ["inadmissible", "not_run", "failed"]
    assert value["finished"] is False
    assert place.left_behind() == []

    done = place.strop(*BENCH)
    assert done.code == 0, done.err
    value = done.json
    assert value == json.loads((place.folder / "out.json").read_text())
    trivial, work, broken = value["rows"]
    assert value["finished"] is True and work["status"] in ("kept", "none")
    assert (trivial["status"], broken["status"]) == ("inadmissible", "failed")
    assert work["baseline"] == "eager" and work["family"] and work["proposed"] >= 1
    assert (work["kernelbench_rule"] == "passed") == (work["status"] == "kept")
    score = value["scores"]["all"]
    assert (score["workloads"], score["not_run"]) == (3, 0) and score["low"] <= score["geomean"] <= score["high"]
    assert counted(place, RunStarted) == 3 and counted(place, Decided) >= 1
    assert place.left_behind() == []

    before = everything(place)
    again = place.strop(*BENCH)
    assert again.code == 0 and again.json == value
    assert everything(place) == before


@pytest.mark.gpu
def test_blocks_of_transformers_on_an_accelerator(place):
    """Two suites under two contracts in one campaign; nothing crashes, and what is kept is no slower."""
    pytest.importorskip("transformers")
    (place.folder / "suite").mkdir()
    place.write("suite/work.py", TINY)
    blocks = f"{ROOT / 'examples' / 'bf16'}=bf16"
    done = place.strop("bench", "suite", blocks, "--budget", "20s", "--baseline", "eager,default", "--json")
    assert done.code == 0, done.err
    value = done.json
    assert [row["contract"] for row in value["rows"]] == ["fp32", "bf16", "bf16"]
    assert value["machine"]["device"].startswith("cuda") and value["finished"] is True
    for row in value["rows"]:
        assert row["status"] in ("kept", "none", "inadmissible"), row
        assert row["kept"] is None or row["kept"]["low"] > 1
    assert set(value["scores"]) == {"all", "suite:suite", "suite:bf16", "contract:fp32", "contract:bf16"}
    assert place.left_behind() == []
