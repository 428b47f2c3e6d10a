"""What is found in results before anybody judges them."""

import pytest
import torch

from strop.pipeline.gold import Gold
from strop.pipeline.values import case_errors
from strop.records.evidence import Case, Distribution
from strop.records.tensor import DType, TensorSpec
from strop.records.workload import Domain, DomainKind, Leaf
from tests.unit.pipeline.scripted import description

EXPECTED = torch.tensor([0, 2, 5])
INDICES = Leaf(path="out", tensor=TensorSpec(shape=(3,), dtype=DType.INT64))


def inputs(domain=None):
    return (Leaf(path="x", tensor=TensorSpec(shape=(3, 6), dtype=DType.FLOAT32), domain=domain),)


@pytest.mark.parametrize(
    ("got", "strays", "changes"),
    [
        ([1, 4, 17], 0, {}),
        ([-1, 4, 18], 2, {}),
        ([-1, 4, 18], 0, {"chooses": False}),
        ([0, 2, 20], 0, {"inputs": inputs(Domain(kind=DomainKind.INTEGER, low=0, high=20))}),
    ],
)
def test_integers_that_choose_among_elements_name_places_that_exist(got, strays, changes):
    told = description(**({"inputs": inputs(), "outputs": (INDICES,), "parameters": (), "chooses": True} | changes))
    case = Case(index=0, distribution=Distribution.TIES)
    gold = Gold(case=case, inputs={}, expected={"out": EXPECTED}, baseline={"out": EXPECTED})
    (found,) = case_errors(told, gold, {"out": torch.tensor(got)})
    assert found.strays == strays
    far = Gold(case=case, inputs={}, expected={"out": EXPECTED - 40}, baseline={"out": EXPECTED})
    assert not case_errors(told, far, {"out": torch.tensor([-1, 1, 2])})[0].strays
