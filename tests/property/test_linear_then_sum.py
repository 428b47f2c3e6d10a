"""Products with summed weights against float64: layers and products of inputs, linear operations behind them."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.property.drawing import FLOATS, cases, layouts, redraw
from tests.unit.transforms.rewriting import Calls, judge

LINEAR = {
    "half": lambda y, t: y / 2,
    "times": lambda y, t: y * -1.5,
    "negated": lambda y, t: -y,
    "shifted": lambda y, t: y + 0.75,
    "added": lambda y, t: y + t,
    "subtracted": lambda y, t: torch.sub(y, t, alpha=2),
}


@st.composite
def summed_products(draw):
    features, channels, dtype = draw(st.integers(2, 12)), draw(st.integers(1, 12)), draw(FLOATS)
    batch = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    chain = draw(st.lists(st.sampled_from(sorted(LINEAR)), max_size=3))
    term = draw(layouts((features,) if draw(st.booleans()) else (1,), dtype=dtype))
    reduce, keep = draw(st.sampled_from([torch.sum, torch.mean])), draw(st.booleans())
    others = draw(st.lists(st.integers(0, len(batch) - 1), max_size=1))

    def forward(linear, x):
        y = linear(x)
        for name in chain:
            y = LINEAR[name](y, term.to(y.dtype))
        return reduce(y, dim=[-1, *others], keepdim=keep)

    module = redraw(Calls(forward, nn.Linear(channels, features, bias=draw(st.booleans()))), draw(st.integers(0, 999)))
    return module.to(dtype), draw(layouts((*batch, channels), dtype=dtype))


@given(summed_products())
@cases(30)
def test_a_layer_that_is_summed(drawn):
    module, inputs = drawn
    # What a sum of many features may round is set by the features' size, not by their sum's.
    judge(module, (inputs,), "linear_then_sum", floor_eps=32.0)


@given(st.data())
@cases(12)
def test_a_product_of_two_inputs_that_is_summed(data):
    rows, inner, columns, batch = (data.draw(st.integers(2, 9)) for _ in range(4))
    dtype = data.draw(FLOATS)
    left = data.draw(layouts((batch, rows, inner), dtype=dtype))
    right = data.draw(layouts((batch, inner, columns), dtype=dtype))
    judge(Calls(lambda a, b: torch.bmm(a, b).sum(2)), (left, right), "linear_then_sum", floor_eps=32.0)


@given(st.sampled_from([torch.relu, torch.tanh, lambda y: y * y, lambda y: y.flip(-1) + 1]), st.booleans())
@cases(8)
def test_what_is_not_linear_is_left_alone(function, keep):
    module = Calls(lambda linear, x: function(linear(x)).sum(-1, keepdim=keep), nn.Linear(5, 7))
    judge(module, (torch.randn(4, 5),), "linear_then_sum", applies=False, floor_eps=32.0)
