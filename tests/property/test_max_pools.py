"""Maximum pooling one dimension after the other: bit for bit what torch gives, for any window and layout."""

from dataclasses import replace

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from strop.capture import run_graph
from strop.lowering import settle
from strop.records.target import MemoryLevel
from strop.transforms.separable_max_pool import PARTS
from tests.property.drawing import FLOATS, cases, layouts
from tests.unit.transforms.rewriting import TARGET, apply, captured


@st.composite
def pools(draw):
    axes = draw(st.integers(1, 3))
    kernel, dilation = draw(st.tuples(*[st.integers(1, 5)] * axes)), draw(st.tuples(*[st.integers(1, 2)] * axes))
    padding = tuple(draw(st.integers(0, size // 2)) for size in kernel)
    stride = draw(st.tuples(*[st.integers(1, 3)] * axes))
    space = tuple((k - 1) * d + 1 + draw(st.integers(0, 6)) for k, d in zip(kernel, dilation, strict=True))
    layer = {1: nn.MaxPool1d, 2: nn.MaxPool2d, 3: nn.MaxPool3d}[axes]
    settings = [part if axes > 1 else part[0] for part in (kernel, stride, padding, dilation)]
    module = layer(*settings, ceil_mode=draw(st.booleans()))
    shape = (draw(st.integers(1, 5)), draw(st.integers(1, 5)), *space)
    value = draw(layouts(shape, dtype=draw(FLOATS))).clone(memory_format=torch.preserve_format)
    if draw(st.booleans()):
        value[(0,) * value.dim()] = draw(st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0]))
    return module, value


WITHOUT_CACHE = replace(TARGET, memory=(MemoryLevel(name="memory", size_bytes=8 << 30),))
"""Anything is too large for the caches that it has not."""


def is_offered(form, module, value):
    """Passes need two dimensions in which windows are wider than one element, and parts a batch that can be split."""
    sizes = module.kernel_size if isinstance(module.kernel_size, tuple) else (module.kernel_size,)
    separable = sum(size > 1 for size in sizes) > 1
    return form == "native" or (separable and (form == "passes" or len(value) >= PARTS))


@given(pools(), st.sampled_from(["native", "passes", "parts"]))
@cases(30)
def test_every_form_is_exact(drawn, form):
    module, value = drawn
    one = captured(module, (value,))
    taken = apply(f"separable_max_pool{{form={form}}}", one.module, WITHOUT_CACHE)
    assert bool(taken) == is_offered(form, module, value)
    (result,) = run_graph(settle(one.module), one.inputs)
    torch.testing.assert_close(result, module(value), rtol=0, atol=0, equal_nan=True)
