"""Operators that a transform brings along are called from the compiled graph as they are."""

import pytest
import torch
from torch import nn

from strop.lowering import FROZEN, lower
from tests.unit.lowering.rewrites import calls

aten = torch.ops.aten

library = torch.library.Library("strop_test", "FRAGMENT")
library.define("scaled_relu(Tensor x, Tensor weight) -> Tensor")
library.impl("scaled_relu", lambda x, weight: torch.relu(x) * weight[0], "CPU")
torch.library.register_fake("strop_test::scaled_relu", lambda x, weight: torch.empty_like(x), lib=library)
library.define("relu_into(Tensor x, Tensor(a!) out) -> ()")
library.impl("relu_into", lambda x, out: _into(x, out), "CPU")
torch.library.register_fake("strop_test::relu_into", lambda x, out: None, lib=library)


def _into(x, out):
    torch.clamp(x, min=0, out=out)


@torch.library.custom_op("strop_test::negated", mutates_args=())
def negated(x: torch.Tensor) -> torch.Tensor:
    return -x


@negated.register_fake
def _(x):
    return torch.empty_like(x)


@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


@pytest.fixture
def net():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))


def put(graph, old, make):
    (node,) = calls(graph, old)
    with graph.graph.inserting_before(node):
        new = make(graph.graph, node)
    node.replace_all_uses_with(new)
    graph.graph.erase_node(node)
    return graph


def test_operator_with_a_parameter_as_argument(net):
    def rewrite(graph):
        bias = next(n for n in graph.graph.nodes if n.meta.get("strop_role", ("", ""))[1] == "0.bias")
        return put(
            graph,
            aten.relu.default,
            lambda g, n: g.call_function(torch.ops.strop_test.scaled_relu.default, (n.args[0], bias)),
        )

    lowered = lower(net, rewrite)
    x = torch.randn(3, 4)
    want = net[2](torch.relu(net[0](x)) * net[0].bias[0])
    torch.testing.assert_close(lowered(x), want)
    assert "torch.ops.strop_test.scaled_relu.default(" in lowered.graphs[0].wrapper


def test_operator_that_writes_to_an_argument(net):
    def make(g, node):
        value = node.args[0].meta["val"]
        out = g.call_function(aten.empty.memory_format, (list(value.shape),), {"dtype": value.dtype})
        g.call_function(torch.ops.strop_test.relu_into.default, (node.args[0], out))
        return out

    lowered = lower(net, lambda graph: put(graph, aten.relu.default, make))
    x = torch.randn(3, 4)
    torch.testing.assert_close(lowered(x), net(x))
    assert "torch.ops.strop_test.relu_into.default(" in lowered.graphs[0].wrapper


def test_operator_made_with_custom_op(net):
    lowered = lower(
        net,
        lambda graph: put(
            graph,
            aten.relu.default,
            lambda g, n: g.call_function(torch.ops.strop_test.negated.default, (n.args[0],)),
        ),
    )
    x = torch.randn(3, 4)
    torch.testing.assert_close(lowered(x), net[2](-net[0](x)))


def test_custom_operators_of_the_users_own_module():
    class Own(nn.Module):
        def forward(self, x):
            out = torch.empty_like(x)
            torch.ops.strop_test.relu_into(x, out)
            return negated(out) + 1

    x = torch.randn(5)
    torch.testing.assert_close(lower(Own())(x), Own()(x))


def test_operator_in_the_frozen_part(net):
    def make(g, node):
        weight = node.args[0]
        packed = g.call_function(torch.ops.strop_test.negated.default, (weight,))
        packed.meta[FROZEN] = True
        return g.call_function(aten.permute.default, (packed, [1, 0]))

    def rewrite(graph):
        node = calls(graph, aten.permute.default)[0]
        with graph.graph.inserting_before(node):
            new = make(graph.graph, node)
        node.replace_all_uses_with(new)
        graph.graph.erase_node(node)
        return graph

    lowered = lower(net, rewrite)
    x = torch.randn(3, 4)
    want = net[2](torch.relu(nn.functional.linear(x, -net[0].weight, net[0].bias)))
    torch.testing.assert_close(lowered(x), want)
    assert "negated" not in lowered.graphs[0].wrapper
