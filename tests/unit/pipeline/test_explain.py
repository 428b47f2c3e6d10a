"""Every kind of inputs is explained, a lower precision is recognised, and a candidate's end leaves what it got to."""

from dataclasses import replace

import pytest
import torch

from strop.pipeline import explain as explaining
from strop.pipeline.cases import full_plan
from strop.pipeline.explain import explain
from strop.records.contract import CONTRACTS
from strop.records.evidence import Distribution
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Leaf
from strop.wire import messages as m
from tests.unit.pipeline.scripted import DESCRIPTION, REQUEST, Script, ScriptedChild, ScriptedWall, crash
from tests.unit.pipeline.test_line import RECIPE, RULES, court, stations

ROUNDOFF = {"tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}


def rounded_to_bf16(x, w):
    return (x * w).bfloat16().float()


@pytest.fixture(autouse=True)
def _precisions(monkeypatch):
    """Honest rounding at the precision that is asked for."""

    def perturb(self, request):
        self._expect(request)
        out = self.made.views(0)["out"]
        unit = ROUNDOFF[request.contract.name] if request.contract else 2.0**-24
        noise = 2 * torch.rand(out.shape, generator=torch.Generator().manual_seed(request.seed), dtype=out.dtype) - 1
        out.mul_(1 + noise * unit)
        return m.Done()

    monkeypatch.setattr(ScriptedChild, "_perturb", perturb)


def explained(said=None, **scripts):
    with court(ScriptedWall(**scripts)) as trusted:
        return explain(trusted, RECIPE, RULES, (said if said is not None else []).append)


def test_every_case_has_a_row_but_for_nan_and_inf():
    said = []
    found = explained(said)
    cases = full_plan(DESCRIPTION).values
    assert {row.distribution for row in found.rows} == {case.distribution for case in cases} - {Distribution.SPECIAL}
    assert {row.parameters_draw for row in found.rows} == {0, 1, 2, 3}
    assert all(row.path == "out" and row.allowed.max >= row.candidate.max for row in found.rows)
    assert (found.looks_like, found.because) == ((), "")
    assert said[0] == f"explaining: case 1 of {len(said)}" and len(said) == len(found.rows)


def test_a_lower_precision_is_recognised():
    found = explained(candidate=Script(compute=rounded_to_bf16))
    assert found.looks_like == ("bf16",)
    assert all(row.candidate.max > row.allowed.max for row in found.rows if row.distribution is Distribution.NORMAL)


def test_whole_numbers_have_no_errors_to_explain():
    index = Leaf(path="index", tensor=TensorSpec(shape=(64, 4), dtype=DType.INT64))
    found = explained(description=replace(DESCRIPTION, outputs=(*DESCRIPTION.outputs, index)))
    assert {row.path for row in found.rows} == {"out"}


def test_a_candidate_that_ends_leaves_the_rows_that_it_got_to():
    class Late:
        calls = 0

        def __call__(self, x, w):
            self.calls += 1
            if self.calls > 3:
                raise crash(detail="it broke at last")
            return x * w

    found = explained(candidate=Script(compute=Late()))
    assert len(found.rows) == 3 and found.because == "it broke at last"
    nothing = explained(candidate=Script(faults={m.Load: crash(detail="it does not load")}))
    assert nothing.rows == () and nothing.because == "it does not load"


def test_a_verdict_outlives_a_reference_that_ends_and_memory_that_runs_out(monkeypatch):
    def ends(self, request):
        raise crash(detail="the reference broke")

    monkeypatch.setattr(ScriptedChild, "_perturb", ends)
    assert "the reference broke" in explained().because

    def runs_out(*_):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(explaining, "answer", runs_out)
    found = explained()
    assert found.rows == () and "memory is too small" in found.because


def test_the_line_explains_under_its_own_contract():
    with stations(ScriptedWall()) as line:
        assert line.explain(RECIPE, lambda sentence: None).rows
        assert line.contract == CONTRACTS[REQUEST.contract.name]
