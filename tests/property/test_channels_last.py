"""Graphs laid out channels-last against float64: convolutions, pools, norms and concatenations of any shape."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.property.drawing import cases, layouts, redraw
from tests.unit.transforms.rewriting import Calls, applications, apply, captured, judge


@st.composite
def towers(draw):
    deep = draw(st.booleans())
    convolution, transposed = (nn.Conv3d, nn.ConvTranspose3d) if deep else (nn.Conv2d, nn.ConvTranspose2d)
    channels, middle = draw(st.integers(1, 5)), draw(st.sampled_from([2, 4, 6]))
    groups = draw(st.sampled_from([1, 2, middle]))
    layers = [
        convolution(channels, middle, draw(st.sampled_from([1, 3])), padding=1),
        nn.ReLU(),
        (nn.BatchNorm3d if deep else nn.BatchNorm2d)(middle),
        (transposed if draw(st.booleans()) else convolution)(middle, middle, 3, padding=1, groups=groups),
        (nn.AvgPool3d if deep else nn.AvgPool2d)(2),
        convolution(middle, 3, 1, bias=draw(st.booleans())),
    ]
    skip = draw(st.booleans())

    def forward(*parts):
        *parts, x = parts
        for part in parts[:3]:
            x = part(x)
        y = parts[3](x)
        y = torch.cat([x, y], 1)[:, -x.shape[1] :] if skip else y + x
        return parts[5](parts[4](y)), x.flatten(1)

    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    module = redraw(Calls(forward, *layers).eval(), draw(st.integers(0, 999))).to(dtype)
    space = (6, 7, 4) if deep else (draw(st.integers(4, 9)), draw(st.integers(4, 9)))
    return module, draw(layouts((draw(st.integers(1, 3)), channels, *space), dtype=dtype))


@given(towers())
@cases(10)
def test_a_tower_keeps_its_numbers(drawn):
    module, inputs = drawn
    graph = captured(module, (inputs,)).module
    taken = apply("channels_last", graph)
    assert applications("channels_last", graph) == []
    judge(module, (inputs,), "channels_last", applies=bool(taken), floor_eps=16.0)
