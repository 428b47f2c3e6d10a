"""Average pooling in every form against float64: any window, layout, type and border rule."""

import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.property.drawing import FLOATS, cases, layouts
from tests.unit.transforms.rewriting import judge

POOLS = {1: torch.nn.AvgPool1d, 2: torch.nn.AvgPool2d, 3: torch.nn.AvgPool3d}


@st.composite
def pools(draw):
    """A pool and an input that it takes."""
    axes = draw(st.integers(1, 3))
    kernel = draw(st.tuples(*[st.integers(1, 6 if axes < 3 else 3)] * axes))
    stride = draw(st.tuples(*[st.integers(1, 4)] * axes))
    padding = tuple(draw(st.integers(0, size // 2)) for size in kernel)
    space = tuple(
        draw(st.integers(max(1, k - 2 * p), 14 if axes < 3 else 7)) for k, p in zip(kernel, padding, strict=True)
    )
    options = {"ceil_mode": draw(st.booleans()), "count_include_pad": draw(st.booleans())}
    if axes > 1:
        options["divisor_override"] = draw(st.sampled_from([None, None, 3, 7]))
    module = POOLS[axes](
        kernel if axes > 1 else kernel[0],
        stride if axes > 1 else stride[0],
        padding if axes > 1 else padding[0],
        **options,
    )
    batch = draw(st.sampled_from([(), (1,), (3,)]))
    shape = (*batch, draw(st.integers(1, 5)), *space)
    inputs = draw(layouts(shape, dtype=draw(FLOATS)))
    return module, inputs


@given(pools(), st.sampled_from(["native", "shifted", "conv"]))
@cases(36)
def test_every_form_is_as_right_as_the_original(drawn, form):
    module, inputs = drawn
    try:
        module(inputs)
    except RuntimeError:
        assume(False)  # a window that torch itself refuses
    judge(module, (inputs,), f"avg_pool_as_conv{{form={form}}}")
