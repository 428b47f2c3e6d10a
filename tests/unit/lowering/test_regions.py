"""The regions that a recipe replaces are workloads of their own: they run, hold what they should, and can be rewritten
by the same step.
"""

import pytest
import torch
from torch.utils._pytree import tree_map

from strop.capture import capture
from strop.errors import NotSupported
from strop.lowering.region_text import Values, values_of
from strop.lowering.regions import regions_of
from strop.records.candidate import Origin
from strop.records.opportunity import Legality
from strop.records.recipe import parse_recipe
from strop.transforms import SHELF
from strop.transforms._base import KernelTransform
from tests.unit.transforms.rewriting import TARGET, Calls, applications, captured

NAMES = [
    name
    for name in SHELF.names()
    if not isinstance(SHELF.get(name), KernelTransform)
    and "cpu" in SHELF.get(name).devices
    and SHELF.get(name).origin is not Origin.COMPILER
    and SHELF.get(name).legality != (Legality.BIT_EXACT,)
]


def found(module, inputs, recipe, dynamic=False):
    torch._dynamo.reset()
    graphs = [(each.module, each.inputs) for each in capture(module, inputs, dynamic=dynamic).modules]
    return regions_of(parse_recipe(recipe), graphs, TARGET, "a model")


def opened(region):
    """The file's names, and a model of it."""
    names = {}
    exec(compile(region.text, "region.py", "exec"), names)
    return names, names["Model"](*names["get_init_inputs"]())


def summed(features=32, rows=8):
    return Calls(lambda a, x: torch.tanh((a(x.relu()) * 0.5).sum(1, keepdim=True)), torch.nn.Linear(16, features)), (
        torch.randn(rows, 16),
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_same_step_applies_to_the_region_alone(name):
    module, inputs = SHELF.get(name).example.build()
    around = Calls(lambda own, *given: tree_map(lambda each: each.cumsum(-1), own(*given)), module)
    around.train(module.training)
    regions = found(around, inputs, name)
    assert regions and not any(each.because for each in regions)
    for region in regions:
        names, model = opened(region)
        graph = captured(model.train(module.training), names["get_inputs"]()).module
        assert applications(name, graph, **dict(region.step.arguments)), region.text


def test_it_computes_what_the_nodes_compute():
    module, inputs = summed()
    (region,) = found(module, inputs, "linear_then_sum")
    names, model = opened(region)
    assert region.step.arguments == () and "linear_then_sum{at=sum_1}` replaces in a model" in region.text
    linear = module.parts[0]
    with torch.no_grad():
        owned = {tuple(each.shape): each for each in linear.parameters()}
        for parameter in model.parameters():
            parameter.copy_(owned[tuple(parameter.shape)])
        x = inputs[0].relu()
        torch.testing.assert_close(model(x), (linear(x) * 0.5).sum(1, keepdim=True))
    (drawn,) = names["get_inputs"]()
    assert drawn.shape == (8, 16) and drawn.min() >= 0, "what comes out of a relu is not negative"
    assert [type(each) for each in model.parameters()] == [torch.nn.Parameter] * 2, (
        "a weight that is turned is a weight"
    )


def test_what_is_alike_is_cut_out_once_and_other_shapes_again():
    two = Calls(
        lambda a, b, x: torch.tanh(a(x).sum(1)) + torch.tanh(b(x).sum(1)),
        torch.nn.Linear(16, 32),
        torch.nn.Linear(16, 32),
    )
    each = "linear_then_sum{at=sum_1} ; linear_then_sum{at=sum_2}"
    assert len(found(two, (torch.randn(4, 16),), each)) == 1
    other = Calls(two.function, torch.nn.Linear(16, 32), torch.nn.Linear(16, 24))
    assert len(found(other, (torch.randn(4, 16),), each)) == 2
    (both,) = found(other, (torch.randn(4, 16),), "linear_then_sum")
    assert len(list(opened(both)[1].parameters())) == 4, "a step that names no place replaces all of them at once"


def test_a_whole_graph_and_what_keeps_all_bits_are_left_to_the_whole():
    whole = Calls(lambda a, x: a(x).sum(1), torch.nn.Linear(16, 32))
    assert found(whole, (torch.randn(4, 16),), "linear_then_sum") == ()
    pooled = Calls(lambda pool, x: torch.tanh(pool(x)), torch.nn.MaxPool2d(3, 1))
    assert SHELF.get("separable_max_pool").legality == (Legality.BIT_EXACT,)
    assert found(pooled, (torch.randn(2, 3, 16, 16),), "separable_max_pool") == ()


def test_what_cannot_be_written_down_says_why():
    module, inputs = summed()
    (region,) = found(module, inputs, "linear_then_sum", dynamic=True)
    assert (region.text, region.because) == ("", "its shapes are open")
    broad = Calls(lambda a, x: torch.tanh(a(x.relu().expand(8, 16)).sum(1)), torch.nn.Linear(16, 32))
    (region,) = found(broad, (torch.randn(1, 16),), "linear_then_sum")
    assert region.because == "elements of what it reads share memory"
    alone = Calls(
        lambda a, b, x: torch.tanh((a.weight @ b.weight).sum(1)) + x, torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
    )
    (region,) = found(alone, (torch.randn(8),), "linear_then_sum")
    assert region.because == "it reads parameters alone"


@pytest.mark.parametrize(
    ("tensor", "known"),
    [
        (torch.tensor([1.0, 3.0]), Values(1.0, 3.0, 2.0, 1.0)),
        (torch.tensor([float("inf"), 1.0, 3.0, float("nan")]), Values(1.0, 3.0, 2.0, 1.0)),
        (torch.tensor([float("nan")]), Values(-1.0, 1.0, 0.0, 1.0)),
        (torch.tensor([2, 2]), Values(2.0, 2.0, 2.0, 1.0)),
        (torch.tensor([True, False]), Values(0.0, 1.0, 0.5, 0.5)),
    ],
)
def test_what_is_known_of_values(tensor, known):
    assert values_of(tensor) == known


def test_complex_numbers_are_not_drawn():
    with pytest.raises(NotSupported, match="complex"):
        values_of(torch.zeros(2, dtype=torch.complex64))
