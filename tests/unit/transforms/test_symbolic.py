"""Graphs with symbolic sizes: a transform rewrites them for every size or says why not; it never raises."""

import pytest
import torch
from torch import nn

from strop.capture import capture, run_graph
from strop.lowering import settle
from strop.transforms import SHELF
from strop.transforms._base import KernelTransform
from tests.property.drawing import redraw
from tests.unit.transforms.rewriting import TARGET, Calls, applications, apply

F = nn.functional


def tower():
    """Something for every transform of the catalogue."""

    def forward(conv, norm, linear, x):
        y = F.avg_pool2d(F.mish(norm(conv(x))), 3, 1, 1)
        rows = torch.softmax(torch.tanh(y.mean((2, 3))), -1)
        return y, (linear(rows) / 2).sum(-1)

    return redraw(Calls(forward, nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.Linear(6, 9)).eval(), 3)


@pytest.mark.parametrize("name", [name for name in SHELF.names() if not isinstance(SHELF.get(name), KernelTransform)])
def test_symbolic_sizes_are_met(name):
    torch._dynamo.reset()
    module, image = tower(), torch.randn(3, 3, 10, 12)
    one = capture(module, (image,), dynamic=True).modules[0]
    assert any(isinstance(value, int) for value in one.inputs), "nothing is symbolic here"
    offered = applications(name, one.module)
    if SHELF.get(name).origin == "compiler":
        return
    taken = apply(name, one.module)
    assert bool(taken) == bool(offered)
    if not taken:
        assert SHELF.get(name).why_not(one.module, TARGET).endswith(".")
    results = run_graph(settle(one.module), one.inputs)
    with torch.no_grad():
        for found, expected in zip(results, module(image), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["channels_last", "fold_batch_norm", "linear_then_sum"])
def test_what_needs_no_sizes_works_without_them(name):
    torch._dynamo.reset()
    one = capture(tower(), (torch.randn(3, 3, 10, 12),), dynamic=True).modules[0]
    assert applications(name, one.module)
