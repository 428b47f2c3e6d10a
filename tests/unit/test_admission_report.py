"""The admission report: rows are kept, gone on with and told; what did not end is said, never guessed."""

import json
import sys
import time
from contextlib import nullcontext
from dataclasses import replace

import pytest

from strop.errors import ChildFault, WorkloadInconclusive
from strop.pipeline.blame import trusted
from strop.records.evidence import CrashEvidence, CrashKind, Stage
from strop.records.liveness import Part, PartKind
from tests.unit.pipeline.scripted import DESCRIPTION, TARGET
from tests.unit.worker.client import TARGET as CPU
from tools import admission

DEAD = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 8)
        self.unused = nn.Parameter(torch.randn(8))

    def forward(self, x):
        y = torch.sigmoid(self.fc(x)) + 0 * self.unused
        y = torch.clamp(y, 0.0, 1.0)
        return y * torch.clamp(x[:, :8], -5.0, 5.0)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(32, 16)]
"""
RANDOM = DEAD.replace("y = torch.clamp(y, 0.0, 1.0)", "y = torch.dropout(y, 0.5, True)")


def row(problem, **changes):
    size = {"call_ns": 12345.0, "launches": 3, "launch_ns": 4000, "launch_bound": True}
    found = {"dead": ["clamp (line 3 of forward())"], "own_only": [], "unsettled": [], "parts": 4}
    found |= {"looked_at": 4, "because": ""}
    told = {
        "problem": problem,
        "name": "n",
        "outcome": "done",
        "trouble": "",
        "limit_s": 60.0,
        "seconds_s": 1.0,
        "alone": True,
    }
    told |= {"admissible": True, "because": "", "notes": [], "random_ops": [], "liveness": found, "size": size}
    return told | changes


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Runs the tool on three problems, each looked at by a function of its key."""
    suite = tmp_path / "suite"
    suite.mkdir()
    for name in "abc":
        (suite / f"{name}.py").write_text(DEAD, encoding="utf-8")
    out = tmp_path / "out.json"
    monkeypatch.setattr(admission, "calibrated", lambda kind, settings, say: CPU)
    monkeypatch.setattr(admission, "open_wall", lambda settings, target, ahead: nullcontext())

    def run(look, *options):
        seen = []

        def looked_at(desk, item, limit_s, known=None):
            seen.append(item.key)
            return (known or {}) | look(item.key) | {"limit_s": limit_s, "alone": True}

        def side_by_side(items, jobs, limit_s, may_begin):
            for item in items:
                if may_begin():
                    seen.append(f"{item.key} of {jobs}")
                    yield look(item.key) | {"limit_s": limit_s, "size": None, "alone": False}

        monkeypatch.setattr(admission, "looked_at", looked_at)
        monkeypatch.setattr(admission, "side_by_side", side_by_side)
        monkeypatch.setattr(sys, "argv", ["admission.py", "--suite", str(suite), "--out", str(out), *options])
        admission.main()
        return seen

    run.out = out
    return run


def test_said_again_it_goes_on_and_tries_with_more_time_what_took_too_long(tool):
    assert tool(lambda key: row(key, outcome="too long" if key == "b" else "done"), "--only", "a,b") == ["a", "b"]
    found = json.loads(tool.out.read_text())
    assert [each["problem"] for each in found["rows"]] == ["a", "b"]
    assert found["summary"]["problems"] == 3 and found["summary"]["too_long"] == 1
    assert "1 further problems were not begun" in tool.out.with_suffix(".md").read_text()
    assert tool(row) == ["c"]
    assert tool(row, "--per-problem", "2m") == ["b"]
    assert [each["problem"] for each in json.loads(tool.out.read_text())["rows"]] == ["a", "b", "c"]


def test_ctrl_c_and_the_time_limit_keep_what_is_done(tool):
    def interrupted(key):
        if key == "b":
            raise KeyboardInterrupt
        return row(key)

    with pytest.raises(SystemExit, match="130"):
        tool(interrupted)
    assert [each["problem"] for each in json.loads(tool.out.read_text())["rows"]] == ["a"]
    # The first is always begun: a limit that is too short would be reached again and again.
    assert tool(row, "--time-limit", "1s") == ["b"]
    assert tool(row, "--time-limit", "1s") == ["c"]


def test_side_by_side_first_and_what_needs_the_machine_to_itself_after_that(tool):
    seen = tool(lambda key: row(key, outcome="too large" if key == "b" else "done"), "--jobs", "2")
    assert seen == ["a of 2", "b of 2", "c of 2", "a", "b", "c"]
    found = json.loads(tool.out.read_text())["rows"]
    assert all(each["alone"] and each["size"] for each in found)
    assert tool(row, "--jobs", "2") == [], "what is too large by itself stays so"


def test_a_row_that_lacks_its_size_is_filled_and_not_looked_at_again(tool):
    assert tool(row, "--jobs", "2", "--time-limit", "1s") == ["a of 2"]
    original = row("a")
    assert tool(lambda key: {"size": original["size"]} if key == "a" else row(key)) == ["a", "b", "c"]
    first = json.loads(tool.out.read_text())["rows"][0]
    assert first["liveness"] == original["liveness"] and first["size"] == original["size"] and first["alone"]


@pytest.mark.parametrize("what", ["machine", "suite"])
def test_results_of_another_machine_or_suite_are_not_gone_on_with(tool, what):
    tool(row)
    found = json.loads(tool.out.read_text())
    assert found["suite"] == "suite"
    found |= {what: "another one"}
    tool.out.write_text(json.dumps(found))
    with pytest.raises(SystemExit, match="another one"):
        tool(row)


def test_the_page_says_everything_and_what_is_missing():
    late = row("1/4", outcome="too long", trouble="it took longer than 60 s", liveness=None, size=None, admissible=None)
    part = row("1/3")
    part["liveness"] |= {"dead": [], "unsettled": ["relu (line 2 of forward())"], "looked_at": 2, "because": "over"}
    rows = [row("1/1"), row("1/2", admissible=False, because="zeros | would pass", liveness=None), part, late]
    value = {"machine": "m", "contract": "fp32", "rows": rows, "summary": admission.summary(rows, 5)}
    assert value["summary"] | {"admissible": 2, "inadmissible": 1, "with_dead_parts": 1} == value["summary"]
    page = admission.page(value)
    for line in (
        "| 1/2 n | zeros \\| would pass |",
        "| 1/1 n | `clamp (line 3 of forward())` |  |",
        "| 1/1 n | 12.3 | 3 | 4.0 |",
        "| 1/3 n | 2 of 4 parts were not left out: over |",
        "| 1/3 n | dead as far as it was tried, over: relu (line 2 of forward()) |",
        "| 1/4 n | too long: it took longer than 60 s |",
        "1 further problems were not begun.",
    ):
        assert line in page
    assert admission.told(rows[0]) == "1/1 n: admissible, 1 dead of 4 parts, launch-bound (1 s)"
    assert admission.told(late) == "1/4 n: too long (1 s)"
    assert "None." in admission.page(value | {"rows": [], "summary": admission.summary([], 0)})


def test_time_that_is_over_ends_what_is_done():
    with pytest.raises(admission.TooLong), admission.within(0.05):
        time.sleep(5)
    with admission.within(0.05):
        pass
    time.sleep(0.1)


def test_memory_and_time_that_ran_out_have_words_of_their_own():
    def after(kind):
        with pytest.raises(Exception, match="it") as caught, trusted("it"):
            raise ChildFault(CrashEvidence(stage=Stage.VALUES, kind=kind, detail="d"))
        return admission.outcome_of(caught.value)

    assert after(CrashKind.MEMORY) == "too large" and after(CrashKind.TIMEOUT) == "too long"
    assert after(CrashKind.RAISED) == "failed" == admission.outcome_of(WorkloadInconclusive("it"))


def test_what_memory_cannot_hold_is_said_beforehand_on_the_host_alone():
    large = replace(DESCRIPTION.inputs[0], tensor=replace(DESCRIPTION.inputs[0].tensor, shape=(1 << 22, 1 << 20)))
    description = replace(DESCRIPTION, inputs=(large,))
    assert "GiB are free" in admission.too_large(description, CPU)
    assert admission.too_large(DESCRIPTION, CPU) == "" == admission.too_large(description, TARGET)


def test_parts_are_named_by_what_they_are():
    parts = (Part(kind=PartKind.PARAMETER, name="w"), Part(kind=PartKind.OPERATOR, name="relu", place="line 2 of f()"))
    assert admission.named(parts) == ["w (parameter)", "relu (line 2 of f())"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_real_workloads_are_looked_at(jobs, tmp_path, monkeypatch):
    (tmp_path / "dead.py").write_text(DEAD, encoding="utf-8")
    (tmp_path / "random.py").write_text(RANDOM, encoding="utf-8")
    (tmp_path / "broken.py").write_text(DEAD.replace("self.fc(x)", "self.nothing(x)"), encoding="utf-8")
    out = tmp_path / "out.json"
    options = ["--out", str(out), "--per-problem", "3m", "--jobs", jobs]
    monkeypatch.setattr(sys, "argv", ["admission.py", "--suite", str(tmp_path), *options])
    admission.main()
    rows = {row["problem"]: row for row in json.loads(out.read_text())["rows"]}
    found = rows["dead"]
    assert found["admissible"] and found["liveness"]["looked_at"] == found["liveness"]["parts"] == 10
    assert "clamp (line 14 of forward())" in found["liveness"]["dead"]
    assert "unused (parameter)" in found["liveness"]["dead"]
    assert found["liveness"]["own_only"] == ["clamp_1 (line 15 of forward())"]
    living = {"addmm (line 13 of forward())", "sigmoid (line 13 of forward())", "fc.weight (parameter)"}
    assert not living & {*found["liveness"]["dead"], *found["liveness"]["own_only"]}
    assert found["size"]["launches"] > 5 and any("clamp (line 14" in note for note in found["notes"])
    assert rows["random"]["admissible"], "judged by distribution, and nothing can be left out one by one"
    assert rows["random"]["random_ops"] and rows["random"]["liveness"] is None and rows["random"]["size"]
    assert rows["broken"]["outcome"] == "failed" and "nothing" in rows["broken"]["trouble"]
