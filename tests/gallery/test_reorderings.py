"""Honest reorderings answer as their workloads do in double precision, and the referee lets them pass."""

import runpy

import pytest
import torch

from tests.gallery.bench import open_bench
from tests.gallery.other_order.layers import OtherOrder
from tests.gallery.reorderings import UNTOUCHED, Reordering, reordered, reorderings

SAMPLE = [Reordering(path, 0) for path in reordered() if path.stem == "attention"]


def in_double(module):
    """Model and inputs with all bits of double precision in use, or sums of them would be exact in any order."""
    model = module["Model"](*module["get_init_inputs"]()).double()
    given = [each.double() if each.is_floating_point() else each for each in module["get_inputs"]()]
    with torch.no_grad():
        for each in [*model.parameters(), *given]:
            if each.is_floating_point():
                each.mul_(1 + torch.rand_like(each) / 1000)
    return model, given


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("path", reordered(), ids=lambda path: path.stem)
def test_a_reordering_has_the_same_mathematics(path):
    torch.manual_seed(0)
    module = runpy.run_path(str(path))
    model, given = in_double(module)
    changed = False
    for seed in range(12):
        torch.manual_seed(seed)
        plain, other = [[each.clone() for each in given] for _ in range(2)]
        with torch.no_grad():
            wanted = flat(model(*plain)) + plain
            with OtherOrder(seed):
                found = flat(model(*other)) + other
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)
        changed |= not all(map(torch.equal, found, wanted))
        if changed and seed:
            break
    assert changed


def flat(made):
    values = list(made.values()) if isinstance(made, dict) else made if isinstance(made, tuple | list) else [made]
    return [each.clone() for each in values]


@pytest.mark.parametrize(
    "reordering",
    [pytest.param(each, id=each.name, marks=pytest.mark.xdist_group(str(each.workload))) for each in SAMPLE],
)
def test_an_honest_reordering_passes(reordering, tmp_path):
    path = tmp_path / "reordering.py"
    path.write_text(reordering.text, encoding="utf-8")
    with open_bench() as bench:
        verdict = bench.judge(path, reordering.workload).verdict
    assert verdict.outcome == "passed", verdict.objection


def test_trials_are_spread_over_all_workloads():
    trials = reorderings(1000)
    assert len({each.name for each in trials}) == 1000
    assert {each.workload for each in trials} == set(reordered()) and len(reordered()) >= 20
    assert set(UNTOUCHED).isdisjoint(each.workload.stem for each in trials)
