"""A worker tells which regions a recipe replaces, and each of them is a workload that a worker can open and call."""

import pytest

from strop.records.recipe import parse_recipe
from strop.wire.messages import ChildRole, Describe, DescribedReply
from strop.wire.regions import AskRegions, RegionsReply
from tests.unit.worker.client import TARGET, kept

WORK = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 32)

    def forward(self, x):
        return torch.tanh(self.layer(x.relu()).sum(1))


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(8, 16)]
"""


@pytest.mark.parametrize("recipe", ["linear_then_sum", "linear_then_sum{at=sum_1}"])
def test_a_region_is_a_workload(recipe, tmp_path):
    path = tmp_path / "work.py"
    path.write_text(WORK)
    child = kept(ChildRole.BASELINE)
    child.open(path)
    reply = child.ask(AskRegions(recipe=parse_recipe(recipe), target=TARGET), RegionsReply)
    (region,) = reply.regions
    assert reply.left_out == () and str(region.step) == "linear_then_sum"
    path = tmp_path / "region.py"
    path.write_text(region.text)
    reference = kept(ChildRole.REFERENCE)
    reference.open(path)
    description = reference.ask(Describe(), DescribedReply).description
    assert [leaf.tensor.shape for leaf in description.inputs] == [(8, 16)]
    assert sorted(leaf.tensor.shape for leaf in description.parameters) == [(32,), (32, 16)]
    assert [leaf.tensor.shape for leaf in description.outputs] == [(8,)]
