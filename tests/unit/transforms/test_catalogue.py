"""What every entry of the catalogue has to be: documented, repeatable, general about sites, and right on its own
example.
"""

import pytest
import torch

from strop.lowering import lower
from strop.records.candidate import Origin
from strop.records.recipe import Recipe, parse_recipe
from strop.transforms import SHELF
from strop.transforms._base import KernelTransform
from tests.unit.transforms.rewriting import TARGET, Calls, applications, apply, captured, judge

ALL = SHELF.names()
# What changes generated kernels or is for an accelerator alone has tests of its own.
NAMES = tuple(
    name for name in ALL if not isinstance(SHELF.get(name), KernelTransform) and "cpu" in SHELF.get(name).devices
)


def test_the_first_tenants_are_there():
    assert {
        "avg_pool_as_conv",
        "channels_last",
        "fold_batch_norm",
        "fused_elementwise",
        "inductor_options",
        "linear_then_sum",
    } <= set(NAMES)


@pytest.mark.parametrize("name", ALL)
def test_an_entry_says_what_it_is(name):
    item = SHELF.get(name)
    for text in (item.summary, item.applies_when, item.valid_because, item.pays_when, item.example.says):
        assert len(text) > 20
    assert item.legality
    assert all(each.choices for each in item.parameters)


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_applies_to_its_example(name):
    module, inputs = SHELF.get(name).example.build()
    if SHELF.get(name).origin is Origin.COMPILER:
        rewrites = applications(name, captured(module, inputs).module)
        assert all(rewrite.options for rewrite in rewrites)
        assert rewrites
    else:
        judge(module, inputs, name)


@pytest.mark.parametrize("name", NAMES)
def test_asking_changes_nothing(name):
    module, inputs = SHELF.get(name).example.build()
    graph = captured(module, inputs).module
    before = str(graph.graph)
    offered = applications(name, graph)
    assert offered
    assert str(graph.graph) == before
    names = {node.name for node in graph.graph.nodes}
    assert all(set(rewrite.nodes) <= names for rewrite in offered)
    assert all(isinstance(rewrite.gain_ns, float) for rewrite in offered)


@pytest.mark.parametrize("name", NAMES)
def test_a_printed_step_repeats_exactly_this_rewrite(name):
    module, inputs = SHELF.get(name).example.build()
    offered = applications(name, captured(module, inputs).module)
    graph = captured(module, inputs).module
    for rewrite in offered:
        (step,) = parse_recipe(str(Recipe((rewrite.step,)))).steps
        again = applications(name, graph, **dict(step.arguments))
        assert [(str(each.step), each.nodes) for each in again] == [(str(rewrite.step), rewrite.nodes)]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "inductor_options"])
def test_a_graph_with_nothing_to_do_gets_a_sentence(name):
    module = Calls(lambda x: x.flip(0))
    graph = captured(module, (torch.randn(3, 4),)).module
    assert applications(name, graph) == []
    sentence = SHELF.get(name).why_not(graph, TARGET)
    assert sentence.endswith(".")
    assert len(sentence) > 20


@pytest.mark.parametrize("name", [name for name in NAMES if SHELF.get(name).origin is not Origin.COMPILER])
def test_the_example_survives_the_compiler_and_new_parameters(name):
    torch._dynamo.reset()
    module, inputs = SHELF.get(name).example.build()
    taken = []

    def rewrite(graph):
        taken.extend(apply(name, graph))
        return graph

    compiled = lower(module, rewrite)
    with torch.no_grad():
        torch.testing.assert_close(compiled(*inputs), module(*inputs), rtol=1e-4, atol=1e-5)
        assert taken
        for parameter in module.parameters():
            parameter.mul_(1.5).add_(0.1)
        result, expected = compiled(*inputs), module(*inputs)
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)
        assert result.stride() == expected.stride()
