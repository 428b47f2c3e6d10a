"""What is computed from parameters alone is computed once, guarded, and never stale where torch can see it."""

import pytest
import torch
from torch import nn

from strop.errors import BadCandidate
from strop.lowering import FROZEN, lower
from tests.unit.capture.nets import ConvNet
from tests.unit.lowering.rewrites import calls, fold_batch_norm, swap

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


@pytest.fixture
def net():
    found = ConvNet().eval()
    found.norm.running_var.uniform_(0.5, 2)
    found.norm.running_mean.normal_()
    return found


X = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(3))


def test_folding_is_right_and_leaves_no_norm_behind(net):
    lowered = lower(net, fold_batch_norm)
    torch.testing.assert_close(lowered(X), net(X), rtol=1e-4, atol=1e-5)
    assert "batch_norm" not in lowered.graphs[0].wrapper
    assert lowered.pack_bytes == (net.conv.weight.numel() + net.conv.bias.numel()) * 4


def test_visible_changes_of_parameters_are_followed(net):
    lowered = lower(net, fold_batch_norm)
    lowered(X)
    net.conv.weight.mul_(2)
    torch.testing.assert_close(lowered(X), net(X), rtol=1e-4, atol=1e-5)
    net.norm.running_mean.add_(1)
    torch.testing.assert_close(lowered(X), net(X), rtol=1e-4, atol=1e-5)
    net.norm.weight = nn.Parameter(torch.rand(8))
    torch.testing.assert_close(lowered(X), net(X), rtol=1e-4, atol=1e-5)
    assert len(lowered.graphs) == 1


def test_invisible_changes_need_repack(net):
    lowered = lower(net, fold_batch_norm)
    lowered.repack()
    lowered(X)
    net.conv.weight.data.mul_(2)
    assert not torch.allclose(lowered(X), net(X), rtol=1e-3)
    lowered.repack()
    torch.testing.assert_close(lowered(X), net(X), rtol=1e-4, atol=1e-5)


def test_packs_keep_their_address(net):
    lowered = lower(net, fold_batch_norm)
    lowered(X)
    packed = lowered.graphs[0].packed
    before = [pack.data_ptr() for pack in packed._packs]
    net.conv.weight.mul_(2)
    lowered(X)
    assert [pack.data_ptr() for pack in packed._packs] == before


def test_a_pack_that_views_a_parameter_never_writes_to_the_old_one():
    net = nn.Linear(4, 4)

    def freeze_permute(graph):
        for node in calls(graph, aten.permute.default):
            node.meta[FROZEN] = True
        return graph

    lowered = lower(net, freeze_permute)
    x = torch.randn(2, 4)
    torch.testing.assert_close(lowered(x), net(x))
    old = net.weight
    kept = old.clone()
    net.weight = nn.Parameter(torch.randn(4, 4))
    torch.testing.assert_close(lowered(x), net(x))
    assert torch.equal(old, kept)


def test_inference_tensors_are_packed_on_every_call(net):
    with torch.inference_mode():
        net = ConvNet().eval()
        lowered = lower(net, fold_batch_norm)
        torch.testing.assert_close(lowered(X), net(X), rtol=1e-4, atol=1e-5)
        net.conv.weight.mul_(3)
        torch.testing.assert_close(lowered(X), net(X), rtol=1e-4, atol=1e-5)


def test_a_returned_pack_is_a_copy():
    class Weights(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3))

        def forward(self, x):
            return x + 1, torch.relu(self.weight)

    def freeze(graph):
        for node in calls(graph, aten.relu.default):
            node.meta[FROZEN] = True
        return graph

    net = Weights()
    lowered = lower(net, freeze)
    _, first = lowered(torch.ones(2))
    first.fill_(7)
    _, second = lowered(torch.ones(2))
    torch.testing.assert_close(second, torch.relu(net.weight))


def mark(target):
    def rewrite(graph):
        for node in calls(graph, target):
            node.meta[FROZEN] = True
        return graph

    return rewrite


def test_what_depends_on_an_input_cannot_be_frozen(net):
    with pytest.raises(BadCandidate, match="depends on 'x', which is an input"):
        lower(net, mark(aten.convolution.default))(X)


def test_what_depends_on_unfrozen_nodes_cannot_be_frozen(net):
    with pytest.raises(BadCandidate, match="which is not"):
        lower(net, mark(aten.relu.default))(X)


def test_statistics_that_the_graph_updates_cannot_be_frozen():
    with pytest.raises(BadCandidate, match="changed by the graph itself"):
        lower(ConvNet(), mark(aten.add.Tensor))(X)


def test_random_numbers_cannot_be_frozen():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3))

        def forward(self, x):
            return x + nn.functional.dropout(self.weight, 0.5)

    with pytest.raises(BadCandidate, match="random"):
        lower(Noisy(), mark(aten.native_dropout.default))(torch.ones(3))


def test_unmarked_graphs_pay_nothing(net):
    lowered = lower(net, swap(aten.relu.default, aten.relu.default))
    lowered(X)
    assert lowered.graphs[0].packed is None
    assert lowered.pack_bytes == 0
    lowered.repack()
