"""Of a graph's products only those count that no algebra removes."""

import pytest
import torch

from strop.capture import capture
from strop.profiling import minimal_cost


class Net(torch.nn.Module):
    def __init__(self, forward, *shapes):
        super().__init__()
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.randn(shape)) for shape in shapes])
        self.function = forward

    def forward(self, x):
        return self.function(x, *self.weights)


def flop_of(forward, x, *shapes):
    return minimal_cost(capture(Net(forward, *shapes), (x,)).modules)[1]


def conv(x, w):
    return torch.conv2d(x, w, padding=1)


PRODUCTS = {
    "alone": (lambda x, w: x @ w, (4, 8), [(8, 5)], 2 * 4 * 8 * 5),
    "behind an activation": (
        lambda x, w, v: torch.relu(x @ w) @ v,
        (4, 8),
        [(8, 5), (5, 3)],
        2 * (4 * 8 * 5 + 4 * 5 * 3),
    ),
    "two in a row": (lambda x, w, v: x @ w @ v, (4, 8), [(8, 5), (5, 3)], 0),
    "summed": (lambda x, w: (x @ w).sum(1), (4, 8), [(8, 5)], 0),
    "scaled, then summed": (lambda x, w: (2 * (x @ w) + 1).mean(1), (4, 8), [(8, 5)], 0),
    "squared, then summed": (lambda x, w: (x @ w).square().sum(1), (4, 8), [(8, 5)], 2 * 4 * 8 * 5),
    "triangle": (lambda x, w: (x @ w).tril(), (5, 8), [(8, 5)], 0),
    "first column": (lambda x, w: (x @ w)[:, 0], (4, 8), [(8, 5)], 0),
    "convolution": (conv, (2, 3, 6, 6), [(4, 3, 3, 3)], 2 * 2 * 4 * 36 * 3),
}


@pytest.mark.parametrize(("forward", "shape", "weights", "flop"), PRODUCTS.values(), ids=PRODUCTS)
def test_only_products_that_algebra_cannot_remove_count(forward, shape, weights, flop):
    assert flop_of(forward, torch.randn(shape), *weights) == flop
