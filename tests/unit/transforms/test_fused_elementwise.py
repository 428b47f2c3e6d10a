"""Fused chains: how far they reach, what they give back, and what they leave to the compiler."""

import torch
from torch import nn
from torch.nn import functional as F

from strop.transforms import SHELF
from tests.unit.transforms.rewriting import TARGET, WITHOUT_CPP, Calls, applications, captured, judge, operators

ROWS, ROW = "strop.rows.default", "strop.row.default"


def test_a_chain_with_a_softmax_becomes_one_call():
    module = Calls(lambda x, b: torch.softmax(F.gelu(x * 0.5 + b, approximate="tanh"), -1) * 2)
    graph, taken = judge(module, (torch.randn(6, 50), torch.randn(50)), "fused_elementwise")
    assert len(taken) == 1
    assert operators(graph) == [ROW]


def test_a_seed_alone_leaves_its_neighbours():
    module = Calls(lambda x: F.mish(x * 2) + 1)
    graph, _ = judge(module, (torch.randn(6, 50),), "fused_elementwise{span=seed}")
    assert [name for name in operators(graph) if name.startswith("aten")] == ["aten.mul.Tensor", "aten.add.Tensor"]


def test_results_in_the_middle_are_given_back_too():
    def forward(x):
        y = torch.tanh(x)
        return F.mish(y), y.mean(-1), y

    graph, _ = judge(Calls(forward), (torch.randn(6, 50),), "fused_elementwise")
    assert operators(graph).count(ROWS) == 1


def test_a_product_in_between_splits_a_chain():
    module = Calls(lambda f, x: F.mish(x) + f(F.mish(x)), nn.Linear(16, 16))
    graph, _ = judge(module, (torch.randn(8, 16),), "fused_elementwise")
    assert "aten.addmm.default" in operators(graph)
    assert all("mish" not in name for name in operators(graph))


def test_layer_norm_with_affine_parameters_and_several_dimensions():
    judge(Calls(lambda n, x: torch.tanh(n(x)), nn.LayerNorm((5, 7))), (torch.randn(4, 5, 7),), "fused_elementwise")


def test_a_row_per_batch_broadcasts_into_the_chain():
    def forward(x, scale):
        return torch.softmax(torch.tanh(x) * scale, -1) - scale

    judge(Calls(forward), (torch.randn(4, 9, 33), torch.randn(4, 9, 1)), "fused_elementwise")


def test_what_pays_is_estimated_from_the_functions():
    shape = (512, 1024)
    (mish,) = applications("fused_elementwise", captured(Calls(lambda x: F.mish(x) * 2), (torch.randn(shape),)).module)
    (silu,) = applications("fused_elementwise", captured(Calls(lambda x: F.silu(x) * 2), (torch.randn(shape),)).module)
    (tiny,) = applications("fused_elementwise", captured(Calls(lambda x: F.mish(x) * 2), (torch.randn(2, 2),)).module)
    assert mish.gain_ns > 0 > silu.gain_ns
    assert tiny.gain_ns < 0


def test_integers_and_other_reductions_are_left_alone():
    for function, value in (
        (lambda x: torch.softmax(x, 0), torch.randn(5, 6)),
        (lambda x: x.to(torch.int64) * 3, torch.randn(5, 6)),
        (lambda x: x.sum(-1) * 2, torch.randn(5, 6)),
    ):
        graph = captured(Calls(function), (value,)).module
        assert applications("fused_elementwise", graph) == []
        assert SHELF.get("fused_elementwise").why_not(graph, TARGET).endswith(".")


def test_a_target_without_cpp_is_told():
    graph = captured(Calls(lambda x: F.mish(x) * 2), (torch.randn(4, 4),)).module
    assert applications("fused_elementwise", graph, WITHOUT_CPP) == []
    assert "C++" in SHELF.get("fused_elementwise").why_not(graph, WITHOUT_CPP)


def test_no_compiler_is_told(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    graph = captured(Calls(lambda x: F.mish(x) * 2), (torch.randn(4, 4),)).module
    assert applications("fused_elementwise", graph) == []
    assert "no C++ compiler" in SHELF.get("fused_elementwise").why_not(graph, TARGET)


def test_all_chains_of_a_network_are_found():
    block = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.Mish(), nn.Conv2d(8, 8, 3), nn.Mish(), nn.Flatten(), nn.Linear(8 * 36, 5)
    )
    graph = captured(block, (torch.randn(2, 3, 10, 10),)).module
    everywhere, *places = applications("fused_elementwise", graph)
    assert [str(each.step) for each in places] == [
        "fused_elementwise{at=mish span=chain}",
        "fused_elementwise{at=mish_1 span=chain}",
    ]
    assert str(everywhere.step) == "fused_elementwise"
    assert everywhere.nodes == tuple(node for each in places for node in each.nodes)
    assert everywhere.gain_ns == sum(each.gain_ns for each in places)
    everywhere.apply()
    assert operators(graph).count(ROW) == 2
    assert applications("fused_elementwise", graph) == []
