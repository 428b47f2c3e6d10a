"""The trusted side computes on the device too: where its memory runs out nobody is to blame, and nothing crashes."""

from concurrent.futures import Future
from dataclasses import replace

import pytest
import torch

from strop.errors import WorkloadInconclusive
from strop.pipeline import values
from strop.pipeline.challenge import challenge
from strop.pipeline.judge import CONFIRMATION, SCREENING
from strop.pipeline.kernelbench import ask_kernelbench
from strop.pipeline.slots import supply
from strop.pipeline.stations import LocalStations
from strop.records.contract import CONTRACTS
from strop.records.decision import Keep
from strop.records.target import MemoryLevel
from strop.records.verdict import Passed, Verdict
from strop.wire import messages as m
from strop.wire.tensors import Tensors
from tests.unit.pipeline.scripted import (
    CONDITIONS,
    REQUEST,
    TARGET,
    WORKLOAD,
    Script,
    ScriptedArena,
    ScriptedWall,
    crash,
)
from tests.unit.pipeline.test_line import RECIPE, RULES, court, run, stations
from tests.unit.pipeline.test_pure_stations import comparison


def runs_out(*_: object, **__: object) -> Tensors:
    raise torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.parametrize("depth", [SCREENING, CONFIRMATION])
def test_a_candidate_that_could_not_be_looked_at_is_not_blamed(depth, monkeypatch):
    monkeypatch.setattr(values, "leaf_errors", runs_out)
    wall = ScriptedWall(candidate=Script(call_ns=5e5))
    with pytest.raises(WorkloadInconclusive, match=r"memory is too small.*Make the workload smaller"):
        run(wall, depth=depth)
    assert all(child.closed for child in wall.children)


def test_the_survey_ends_with_a_sentence(monkeypatch):
    with stations(ScriptedWall()) as line:
        line.describe()
        monkeypatch.setattr(ScriptedArena, "write", runs_out)
        for station in (line.admit, line.baselines):
            with pytest.raises(WorkloadInconclusive, match="memory is too small"):
                station()


def test_the_rule_was_not_asked(monkeypatch):
    monkeypatch.setattr(ScriptedArena, "write", runs_out)
    with pytest.raises(WorkloadInconclusive, match="memory is too small"):
        ask_kernelbench(ScriptedWall(), WORKLOAD, CONTRACTS["fp32"], TARGET, RECIPE)


def test_a_challenge_says_why_it_has_no_time(monkeypatch):
    verdict = Verdict(candidate_id=RECIPE.id, findings=(Passed(check="a"),), isolation="C")
    keep = Keep(candidate=RECIPE, verdict=verdict, comparison=comparison())
    with court(ScriptedWall()) as trusted:
        monkeypatch.setattr(ScriptedArena, "write", runs_out)
        found = challenge(trusted, keep, "max-autotune", RULES, CONDITIONS)
    assert found.comparison is None and "memory is too small" in found.because


@pytest.mark.parametrize(
    ("memory_bytes", "held_bytes", "beside"), [(1 << 30, 0, True), (64 << 10, 0, False), (1 << 30, 1 << 28, False)]
)
def test_a_fresh_court_stands_beside_the_other_one_where_there_is_room(memory_bytes, held_bytes, beside):
    wall = ScriptedWall(candidate=Script(call_ns=4e5, held_bytes=held_bytes))
    with line_with(wall, memory_bytes) as line:
        assert line.judge(RECIPE, fresh=False).comparison is not None
        standing = [child for child in wall.children if not child.closed]
        assert line.judge(RECIPE, fresh=True).comparison is not None
        assert [not child.closed for child in standing] == [beside] * len(standing) != []
        assert line.judge(RECIPE, fresh=False).comparison is not None
    assert all(child.closed for child in wall.children)


def line_with(wall, memory_bytes):
    target = replace(TARGET, memory=(*TARGET.memory[:1], MemoryLevel(name="memory", size_bytes=memory_bytes)))
    return LocalStations(wall=wall, workload=WORKLOAD, target=target, request=REQUEST, conditions=CONDITIONS)


@pytest.mark.parametrize(("memory_bytes", "steps_down"), [(1 << 30, False), (100 << 10, True)])
def test_who_was_on_the_clock_keeps_its_slots_only_where_there_is_room(memory_bytes, steps_down):
    script = Script(call_ns=4e5)
    with line_with(ScriptedWall(candidate=script), memory_bytes) as line:
        line.baselines()
        own = [line.court.baseline, line.court.null]
        assert [child.made.layout.slots == 1 for child in own] == [steps_down] * 2
        line.judge(RECIPE, fresh=False)
        assert all(child.made.layout.slots > 1 for child in own), "they were on the clock again"
        script.faults[m.Load] = crash()
        line.judge(RECIPE, fresh=False)
        assert [child.made.layout.slots == 1 for child in own] == [steps_down] * 2


@pytest.mark.parametrize("is_done", [True, False])
def test_who_could_not_be_loaded_or_still_is_has_nothing_to_give_back(is_done):
    with line_with(ScriptedWall(), 100 << 10) as line:
        line.court._null = null = Future()
        if is_done:
            null.set_exception(WorkloadInconclusive("no room"))
        line.court.step_down()


@pytest.mark.parametrize(("memory_bytes", "draws"), [(1 << 30, 1), (8 << 10, 3)])
def test_large_inputs_that_belong_to_no_case_are_drawn_again(memory_bytes, draws):
    wall = ScriptedWall()
    with line_with(wall, memory_bytes) as line:
        first = line.court.other_inputs["x"]
        assert all(line.court.other_inputs["x"].shape == first.shape for _ in range(2))
    asked = [request for _, request in wall.asked if isinstance(request, m.DrawInputs)]
    assert len(asked) == draws and len({request.seed for request in asked}) == 1


@pytest.mark.parametrize(("memory_bytes", "draws"), [(1 << 30, 4), (8 << 10, 1)])
def test_rounds_are_made_of_fewer_draws_where_there_is_little_room(memory_bytes, draws):
    with line_with(ScriptedWall(), memory_bytes) as line:
        assert len(supply(line.court).draws) == draws
