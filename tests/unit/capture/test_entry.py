"""What Dynamo compiled before, for other instances or other shapes, changes nothing."""

import pytest
import torch
from torch import nn

from strop.capture import capture, compile_through, fresh_entry
from strop.records.tensor import Symbol
from tests.unit.capture.nets import Mlp


@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


def count_graphs(module, *args):
    seen = []

    def keep(graph, inputs):
        seen.append([tuple(value.shape) for value in inputs])
        return graph

    compile_through(module, keep)(*args)
    return seen


def test_shapes_seen_before_do_not_make_sizes_symbolic():
    for batch in (2, 3, 4):
        (shapes,) = count_graphs(Mlp().eval(), torch.randn(batch, 8))
        assert (batch, 8) in shapes
        record = capture(Mlp().eval(), (torch.randn(batch, 8),)).record.graphs[0]
        assert not [dim for node in record.nodes for spec in node.outputs for dim in spec.shape if type(dim) is Symbol]


def test_a_class_that_dynamo_gave_up_is_still_compiled():
    class Popular(nn.Module):
        def forward(self, x):
            return x + 1

    compiled = []

    def backend(graph, inputs):
        compiled.append(graph)
        return graph

    for _ in range(12):
        torch.compile(Popular(), backend=lambda graph, inputs: backend(graph, inputs))(torch.ones(2))
    assert len(compiled) < 12  # from here on Dynamo runs this class eagerly, without a word
    assert len(count_graphs(Popular(), torch.ones(2))) == 1
    assert len(capture(Popular(), (torch.ones(2),)).modules) == 1


def test_the_entry_does_what_the_call_does():
    class Hooked(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_forward_hook(lambda module, args, result: result * 2)

        def forward(self, x, *, shift=1.0):
            return super().extra_repr() or x + shift

    class Calling(nn.Module):
        def __call__(self, x):
            return x * 5

    x = torch.ones(3)
    assert torch.equal(fresh_entry(Hooked())(x, shift=2.0), x * 6)
    assert torch.equal(fresh_entry(Calling())(x), x * 5)
    assert torch.equal(fresh_entry(nn.Sequential(nn.ReLU()))(-x), x * 0)
    assert len(count_graphs(Hooked(), x)) == 1
    assert len(count_graphs(nn.Sequential(nn.ReLU()), x)) == 1


def test_forward_keeps_defaults_closures_and_super():
    offset = 3.0

    class Closed(Mlp):
        def forward(self, x, scale=2.0, *, shift=1.0):
            return super().forward(x) * scale + shift + offset

    net = Closed().eval()
    x = torch.randn(2, 8)
    torch.testing.assert_close(fresh_entry(net)(x, 3.0), net(x, 3.0))
    torch.testing.assert_close(compile_through(net, lambda graph, inputs: graph)(x), net(x))
