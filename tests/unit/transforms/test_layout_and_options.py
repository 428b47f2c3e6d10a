"""Layouts for whole graphs, and the compiler's own options."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from strop.lowering import LoweringOptions, lower, settle, split_frozen
from strop.records.candidate import Origin
from strop.records.target import Ceilings
from strop.transforms import SHELF
from strop.transforms.separable_max_pool import PARTS
from tests.unit.transforms.rewriting import TARGET, WITHOUT_CPP, Calls, applications, apply, captured, operators


def tower():
    return nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 1))


def test_a_chain_copies_its_input_once_and_its_weights_never():
    graph = captured(tower(), (torch.randn(2, 4, 12, 12),)).module
    apply("channels_last", graph)
    rest = split_frozen(settle(graph)).rest
    assert operators(rest).count("aten.clone.default") == 1
    for node in rest.graph.nodes:
        if node.target is torch.ops.aten.convolution.default:
            assert node.meta["val"].is_contiguous(memory_format=torch.channels_last)


def test_weights_weigh_for_it_and_copies_against_it():
    (heavy,) = applications("channels_last", captured(nn.Conv2d(256, 256, 3), (torch.randn(1, 256, 4, 4),)).module)
    (light,) = applications("channels_last", captured(nn.Conv2d(4, 4, 3), (torch.randn(8, 4, 64, 64),)).module)
    assert heavy.gain_ns > 0 > light.gain_ns


@pytest.mark.parametrize(
    ("module", "value", "says"),
    [
        (nn.Linear(3, 4), torch.randn(2, 3), "no convolution"),
        (nn.Conv1d(3, 4, 3), torch.randn(2, 3, 9), "one-dimensional"),
    ],
)
def test_why_there_is_nothing_to_lay_out(module, value, says):
    graph = captured(module, (value,)).module
    assert applications("channels_last", graph) == []
    assert says in SHELF.get("channels_last").why_not(graph, TARGET)


def test_a_network_that_lies_well_is_left_alone():
    module = tower().to(memory_format=torch.channels_last)
    image = torch.randn(2, 4, 12, 12).contiguous(memory_format=torch.channels_last)
    graph = captured(module, (image,)).module
    assert applications("channels_last", graph) == []
    assert "already" in SHELF.get("channels_last").why_not(graph, TARGET)


def test_options_are_the_compilers_and_exist():
    item = SHELF.get("inductor_options")
    assert item.origin is Origin.COMPILER
    graph = captured(nn.Linear(4, 4), (torch.randn(2, 4),)).module
    before = operators(graph)
    offered = applications("inductor_options", graph)
    known = torch._inductor.config.get_config_copy()
    assert all(name in known for rewrite in offered for name in rewrite.options)
    assert "freezing" not in {name for rewrite in offered for name in rewrite.options}
    offered[0].apply()
    assert operators(graph) == before
    assert str(offered[0].step) not in {str(each.step) for each in applications("inductor_options", graph)}


def test_options_are_for_the_device_and_for_graphs_that_can_use_them():
    graph = captured(Calls(lambda x: x * 2), (torch.randn(2, 4),)).module
    here = {str(each.step) for each in applications("inductor_options", graph)}
    there = {str(each.step) for each in applications("inductor_options", graph, WITHOUT_CPP)}
    assert "inductor_options{set=coordinate_descent}" in there - here
    assert "inductor_options{set=simdlen_256}" in here - there
    assert "inductor_options{set=max_autotune}" not in here | there
    assert applications("inductor_options", graph, set="simdlen_256")[0].options == {"cpp.simdlen": 256}


def test_layouts_are_offered_to_convolutions_alone():
    product = captured(nn.Linear(4, 4), (torch.randn(2, 4),)).module
    convolution = captured(nn.Conv2d(3, 4, 3), (torch.randn(2, 3, 9, 9),)).module
    assert applications("inductor_options", product, WITHOUT_CPP, set="layout_as_given") == []
    assert applications("inductor_options", convolution, WITHOUT_CPP, set="layout_as_given")
    assert applications("inductor_options", product, WITHOUT_CPP, set="max_autotune")


H200 = replace(
    WITHOUT_CPP,
    ceilings=Ceilings(copy_bytes_per_s=4.3e12, product_flop_per_s=(("float32", 51e12),), call_overhead_ns=5000.0),
)


@pytest.mark.parametrize(("windows", "pays"), [((4, 1, 1), True), ((2, 2, 0), False)])
def test_wide_windows_pay_for_two_passes_on_a_gpu_and_narrow_ones_do_not(windows, pays):
    graph = captured(nn.MaxPool2d(*windows), (torch.empty(1).expand(8, 64, 512, 512),)).module
    (found,) = applications("separable_max_pool", graph, H200)
    assert (found.gain_ns > 0) is pays


@pytest.mark.parametrize(("batch", "form"), [(8, "parts"), (3, "passes")])
def test_what_lies_between_two_passes_is_kept_small_where_it_is_large(batch, form):
    graph = captured(nn.MaxPool2d(4, 1, 1), (torch.empty(1).expand(batch, 64, 512, 512),)).module
    (found,) = applications("separable_max_pool", graph, H200)
    assert found.step.argument("form", "") == form
    found.apply()
    assert operators(graph).count("aten.max_pool2d_with_indices.default") == (2 * PARTS if form == "parts" else 2)


@pytest.mark.parametrize(
    ("reduced", "shape", "offered"),
    [
        (lambda x: x.sum(), (1 << 15,), True),
        (lambda x: x.sum(), ((1 << 15) - 1,), False),
        (lambda x: x.mean(dim=1), (8, 8 << 15), True),
        (lambda x: torch.var_mean(x, dim=1)[0], (16, 1 << 21), True),
        (lambda x: x.amax(dim=1), (16, 1 << 20), False),
        (lambda x: x.sum(dim=1), (17, 1 << 21), False),
        (lambda x: x.relu(), (1 << 15,), False),
    ],
)
def test_blocks_cooperate_where_rows_are_few_and_long(reduced, shape, offered):
    graph = captured(Calls(reduced), (torch.empty(1).expand(shape),)).module
    assert bool(applications("inductor_options", graph, WITHOUT_CPP, set="cooperative_reductions")) is offered


def test_an_option_compiles():
    graph = captured(nn.Linear(4, 4), (torch.randn(2, 4),)).module
    options = {
        name: value
        for each in applications("inductor_options", graph, set="contract")
        for name, value in each.options.items()
    }
    torch._dynamo.reset()
    module, value = nn.Linear(4, 4), torch.randn(2, 4)
    with torch.no_grad():
        torch.testing.assert_close(lower(module, options=LoweringOptions(inductor=options))(value), module(value))
