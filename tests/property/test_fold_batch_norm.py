"""Folded batch norm against float64: any convolution or product in front of it, any shape, layout and type."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.property.drawing import FLOATS, cases, layouts, redraw
from tests.unit.transforms.rewriting import Calls, judge

CONVOLUTIONS = {
    (1, False): nn.Conv1d,
    (2, False): nn.Conv2d,
    (3, False): nn.Conv3d,
    (1, True): nn.ConvTranspose1d,
    (2, True): nn.ConvTranspose2d,
    (3, True): nn.ConvTranspose3d,
}
NORMS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}


@st.composite
def normed_convolutions(draw):
    axes, transposed = draw(st.integers(1, 3)), draw(st.booleans())
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, features = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    kernel, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    layer = CONVOLUTIONS[axes, transposed](
        channels,
        features,
        kernel,
        stride=draw(st.integers(1, 2)),
        padding=draw(st.integers(0, 1)),
        dilation=dilation,
        groups=groups,
        bias=draw(st.booleans()),
    )
    norm = NORMS[axes](features, affine=draw(st.booleans()), eps=draw(st.sampled_from([1e-5, 1e-3])))
    dtype = draw(FLOATS)
    module = redraw(nn.Sequential(layer, norm).eval(), draw(st.integers(0, 999))).to(dtype)
    shape = (draw(st.integers(1, 3)), channels, *(draw(st.integers(5, 8)) for _ in range(axes)))
    return module, draw(layouts(shape, dtype=dtype))


@given(normed_convolutions())
@cases(30)
def test_a_convolution_with_the_norm_in_its_weights(drawn):
    module, inputs = drawn
    # Weights are rounded once more, which in half precision weighs as much as the result's own rounding.
    judge(module, (inputs,), "fold_batch_norm", floor_eps=8.0)


@st.composite
def normed_products(draw):
    features, channels = draw(st.integers(2, 9)), draw(st.integers(1, 9))
    linear = nn.Linear(channels, features, bias=draw(st.booleans()))
    norm, dtype = nn.BatchNorm1d(features, affine=draw(st.booleans())), draw(FLOATS)
    deep = draw(st.booleans())

    def forward(first, second, x):
        return second(first(x).transpose(1, 2)) if deep else second(first(x))

    module = redraw(Calls(forward, linear, norm).eval(), draw(st.integers(0, 999))).to(dtype)
    shape = (draw(st.integers(2, 5)), *([draw(st.integers(2, 5))] if deep else []), channels)
    value = draw(layouts(shape, dtype=dtype))
    # A batch of matrices with gaps is multiplied with copies of the weight (bmm), which is another pattern.
    return module, value.contiguous() if deep else value


@given(normed_products())
@cases(15)
def test_a_linear_layer_with_the_norm_in_its_weights(drawn):
    module, inputs = drawn
    judge(module, (inputs,), "fold_batch_norm", floor_eps=8.0)


@given(normed_convolutions())
@cases(6)
def test_a_norm_in_train_mode_is_left_alone(drawn):
    module, inputs = drawn
    module.train()
    torch.manual_seed(0)
    judge(module, (inputs,), "fold_batch_norm", applies=False, floor_eps=64.0)
