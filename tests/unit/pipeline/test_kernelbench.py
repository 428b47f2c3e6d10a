"""KernelBench's own rule: its seeds, its tolerances, and whose fault is whose."""

from dataclasses import replace

import pytest
import torch

from strop.errors import BadWorkload, WorkloadInconclusive
from strop.pipeline.kernelbench import SEED, TRIAL_SEEDS, ask_kernelbench, first_difference
from strop.records.contract import CONTRACTS
from strop.records.evidence import CrashKind, Distribution
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Leaf
from strop.wire import messages as m
from tests.unit.pipeline.scripted import TARGET, WORKLOAD, Script, ScriptedWall, crash
from tests.unit.pipeline.test_line import RECIPE


def ask(wall):
    return ask_kernelbench(wall, WORKLOAD, CONTRACTS["fp32"], TARGET, RECIPE)


def test_the_trials_are_kernelbench_s_own():
    torch.manual_seed(SEED)
    assert tuple(int(torch.randint(0, 2**32 - 1, (1,)).item()) for _ in TRIAL_SEEDS) == TRIAL_SEEDS


def test_a_right_candidate_satisfies_it():
    wall = ScriptedWall()
    said = ask(wall)
    assert (said.rule, said.passed, said.because, said.candidate_id) == ("kernelbench", True, "", RECIPE.id)
    drawn = [request for _, request in wall.asked if isinstance(request, m.DrawInputs)]
    assert [each.seed for each in drawn if each.seed in TRIAL_SEEDS] == list(TRIAL_SEEDS)
    assert {each.distribution for each in drawn} == {Distribution.OWN}
    opened = [request for _, request in wall.asked if isinstance(request, m.Open)]
    assert {each.construct_seed for each in opened} == {SEED}
    loaded = [(role, request.form) for role, request in wall.asked if isinstance(request, m.Load)]
    assert ("eager", RECIPE.form) in [(getattr(one[1], "mode", ""), other[1]) for one in loaded for other in loaded]
    assert all(child.closed for child in wall.children) and wall.locks


@pytest.mark.parametrize(("factor", "passed"), [(1 + 5e-5, True), (1 + 1e-3, False)])
def test_it_forgives_what_its_tolerance_forgives(factor, passed):
    said = ask(ScriptedWall(candidate=Script(compute=lambda x, w: x * w * factor)))
    assert said.passed is passed
    assert said.because == "" or said.because.startswith("trial 1 of 5: ")


def test_a_candidate_that_breaks_fails_it():
    said = ask(ScriptedWall(candidate=Script(faults={m.Run: crash(detail="it broke")})))
    assert (said.passed, said.because) == (False, "it broke")


def test_a_fault_of_the_trusted_side_is_no_answer():
    with pytest.raises(BadWorkload):
        ask(ScriptedWall(eager=Script(faults={m.Run: crash()})))
    with pytest.raises(WorkloadInconclusive):
        ask(ScriptedWall(candidate=Script(faults={m.Run: crash(CrashKind.INFRASTRUCTURE)})))


def leaf(kind, count=8):
    return Leaf(path="out", tensor=TensorSpec(shape=(count,), dtype=kind))


def differs(kind, expected, got, contract="fp32"):
    return first_difference([leaf(kind)], {"out": expected}, {"out": got}, CONTRACTS[contract])


def test_nan_is_close_to_nothing_and_infinity_to_itself():
    ones = torch.ones(8)
    bad = ones.clone()
    bad[3] = torch.nan
    assert "1 of 8 elements of out" in differs(DType.FLOAT32, ones, bad)
    assert "1 of 8" in differs(DType.FLOAT32, bad, bad)
    bad[3] = torch.inf
    assert differs(DType.FLOAT32, bad, bad) == ""
    assert "1 of 8" in differs(DType.FLOAT32, ones, bad)


def test_half_precision_has_a_wider_tolerance():
    ones, near = torch.ones(8), torch.full((8,), 1.005)
    assert differs(DType.FLOAT32, ones, near)
    assert differs(DType.FLOAT32, ones, near, "bf16") == ""
    assert differs(DType.FLOAT16, ones.half(), near.half()) == ""
    assert differs(DType.BFLOAT16, ones.bfloat16(), (ones * (1 + 2.0**-7)).bfloat16()) == ""
    assert differs(DType.BFLOAT16, ones.bfloat16(), (ones * (1 + 2.0**-4)).bfloat16())


def test_integers_and_large_outputs(monkeypatch):
    monkeypatch.setattr("strop.stats.figures._PIECE_ON_HOST", 3)
    numbers = torch.arange(8)
    assert differs(DType.INT64, numbers, numbers) == ""
    assert "5 of 8" in differs(DType.INT64, numbers, torch.where(numbers > 2, numbers + 1, numbers))


def test_the_first_of_several_outputs_that_differs_is_named():
    leaves = [replace(leaf(DType.FLOAT32), path=path) for path in ("out[0]", "out[1]")]
    ones = torch.ones(8)
    found = first_difference(
        leaves, {"out[0]": ones, "out[1]": ones}, {"out[0]": ones, "out[1]": 2 * ones}, CONTRACTS["fp32"]
    )
    assert "8 of 8 elements of out[1] are further than 0.0001 apart" in found
