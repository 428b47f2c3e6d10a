"""Folding and summing: what is marked as frozen, what is declined and why."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from strop.lowering import settle, split_frozen
from strop.transforms import SHELF
from tests.unit.transforms.rewriting import TARGET, Calls, applications, apply, captured, operators


def test_folding_leaves_one_convolution_and_freezes_the_rest():
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval()
    graph = captured(module, (torch.randn(2, 3, 9, 9),)).module
    apply("fold_batch_norm", graph)
    rest = split_frozen(settle(graph)).rest
    assert operators(rest) == ["aten.convolution.default", "aten.relu.default"]


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).train(), "train mode"),
        (nn.Sequential(nn.ReLU(), nn.BatchNorm2d(3)).eval(), "no convolution or matrix product"),
        (Calls(lambda c, n, x: n(c(x)) + c(x).abs().mean(), nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval(), ""),
        (nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval(), "no batch norm"),
    ],
)
def test_what_cannot_be_folded_is_said(module, says):
    graph = captured(module, (torch.randn(2, 3, 9, 9),)).module
    if says:
        assert applications("fold_batch_norm", graph) == []
        assert says in SHELF.get("fold_batch_norm").why_not(graph, TARGET)
    else:
        assert len(applications("fold_batch_norm", graph)) == 1


def test_a_result_that_is_used_twice_is_not_folded_away():
    def forward(conv, norm, x):
        y = conv(x)
        return norm(y), y

    graph = captured(Calls(forward, nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval(), (torch.randn(2, 3, 9, 9),)).module
    assert applications("fold_batch_norm", graph) == []
    assert "whose result it alone uses" in SHELF.get("fold_batch_norm").why_not(graph, TARGET)


def test_a_computed_weight_is_not_frozen():
    def forward(norm, x, w):
        return norm(F.conv2d(x, w))

    module = Calls(forward, nn.BatchNorm2d(8)).eval()
    graph = captured(module, (torch.randn(2, 3, 9, 9), torch.randn(8, 3, 3, 3))).module
    assert applications("fold_batch_norm", graph) == []
    assert "not parameters" in SHELF.get("fold_batch_norm").why_not(graph, TARGET)


def test_summed_weights_of_a_layer_are_frozen_and_of_an_input_are_not():
    layer = captured(Calls(lambda f, x: f(x).sum(-1), nn.Linear(16, 64)), (torch.randn(32, 16),)).module
    (rewrite,) = applications("linear_then_sum", layer)
    assert rewrite.gain_ns > 0
    apply("linear_then_sum", layer)
    assert "aten.sum.dim_IntList" in operators(split_frozen(settle(layer)).prologue)
    product = captured(Calls(lambda a, b: (a @ b).sum(-1)), (torch.randn(32, 16), torch.randn(16, 64))).module
    apply("linear_then_sum", product)
    assert split_frozen(settle(product)).prologue is None


@pytest.mark.parametrize(
    "function",
    [
        lambda f, x: f(x).relu().sum(-1),
        lambda f, x: f(x).sum(0),
        lambda f, x: (f(x) * f(x)).sum(-1),
        lambda f, x: f(x).sum(-1, dtype=torch.float64),
        lambda f, x: (f(x) + x.new_ones(3, 32, 64)).sum(-1),
        lambda f, x: f(x).t().reshape(64, 32).sum(-1),
    ],
)
def test_what_is_no_linear_sum_of_features_is_left_alone(function):
    graph = captured(Calls(function, nn.Linear(16, 64)), (torch.randn(32, 16),)).module
    assert applications("linear_then_sum", graph) == []
    assert SHELF.get("linear_then_sum").why_not(graph, TARGET).endswith(".")
